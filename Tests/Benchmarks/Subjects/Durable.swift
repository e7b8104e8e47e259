import CompositeOperations
import DurableOperations
import Foundation
import TestSupport

/// A job of about a hundred bytes.
struct Letter: Job {
  static let kind = "letter"
  var number = 1
  var text = String(repeating: "x", count: 80)
}

/// The package's side of the rows about durable jobs: a queue on its own file or schema, and a bare
/// connection to a similar one.
final class Durable: Sendable {
  enum Engine { case sqlite, postgres }

  /// Made when it is needed, because making it takes long.
  final class Lazy: @unchecked Sendable {  // rows are measured one at a time
    private let make: @Sendable () throws -> Durable
    private(set) lazy var value: Durable = {
      do { return try make() } catch { preconditionFailure("\(error)") }
    }()

    init(_ mode: DurableQueue.Durability, on engine: Engine = .sqlite, stored: Int = 0) {
      make = { try Durable(mode, on: engine, stored: stored) }
    }

    init(_ make: @escaping @Sendable () throws -> Durable) { self.make = make }

    static let million = Lazy(.normal, stored: 1_000_000)
    static let thousand = Lazy(.normal, stored: 1_000)
  }

  private let folder: URL
  private let mode: DurableQueue.Durability
  private let location: DurableQueue.Location
  /// All of them run jobs; the first one enqueues them.
  private let queues: [DurableQueue]
  private let peers: [any DurablePeer]
  private let payload: [UInt8]
  /// How many jobs have run, and the waiter for a target number.
  private let runs = LockBox((count: 0, target: 0, waiter: CheckedContinuation<Void, Never>?.none))
  /// How many jobs wait.
  private let waiting = LockBox(0)
  private let waitingAtPeer = LockBox(0)

  /// - Parameters:
  ///   - stored: How many jobs wait all the time.
  ///   - workers: How many queues run the jobs, and how many connections the peer's.
  ///   - size: About how many jobs a queue claims at once.
  ///   - database: The database of the server; nil for the common one.
  convenience init(
    _ mode: DurableQueue.Durability, on engine: Engine = .sqlite, stored: Int = 0, workers: Int = 1,
    inRoundsOf size: Int = 100, database: String? = nil
  ) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "Benchmarks-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    func location(_ name: String) throws -> DurableQueue.Location {
      try Self.location(name, engine, in: folder, database: database)
    }
    try self.init(mode, at: location("queue"), peerAt: location("peer"), in: folder, workers: workers, inRoundsOf: size)
    if stored > 0 { enqueue(stored, inBatchesOf: min(stored, 10_000)) }
  }

  /// The same jobs in rounds of another size, without the peer.
  convenience init(like other: Durable, inRoundsOf size: Int) throws {
    try self.init(
      other.mode, at: other.location, peerAt: other.location, in: other.folder, workers: 1, inRoundsOf: size)
    waiting.withLock { $0 = other.waiting.withLock(\.self) }
  }

  private init(
    _ mode: DurableQueue.Durability, at location: DurableQueue.Location, peerAt other: DurableQueue.Location,
    in folder: URL, workers: Int, inRoundsOf size: Int
  ) throws {
    (self.folder, self.mode, self.location) = (folder, mode, location)
    var configuration = DurableQueue.Configuration()
    configuration.durability = mode
    configuration.maxConcurrentOperationCount = 2 * size
    queues = try (0..<workers).map { _ in try DurableQueue(location: location, configuration: configuration) }
    // The tables, with a kind whose lane is 4.
    try DurableQueue(location: other, configuration: configuration).register(Letter.self) { _, _ in emptyOperation() }
    peers = try (0..<workers).map { _ in try Self.peer(of: other, mode) }
    payload = Array(try JSONEncoder().encode(Letter()))
    for queue in queues {
      try queue.register(Letter.self) { [runs] _, _ in
        SimpleOperation {
          let waiter = runs.withLock { runs in
            runs.count += 1
            return runs.count == runs.target ? runs.waiter.take() : nil
          }
          waiter?.resume()
          $0.finish()
        }
      }
    }
  }

  private static func location(_ name: String, _ engine: Engine, in folder: URL, database: String?) throws
    -> DurableQueue.Location
  {
    #if os(macOS) || os(Linux)
    if engine == .postgres {
      let server = try PostgresServer.sharedBlocking()
      return .postgres(
        server.url(database ?? "postgres"), PostgresOptions(schema: "\(name)\(server.uniqueNumber())"))
    }
    #endif
    return .file(folder.appending(path: "\(name).sqlite"))
  }

  private static func peer(of location: DurableQueue.Location, _ mode: DurableQueue.Durability) throws
    -> any DurablePeer
  {
    switch location {
    #if os(macOS) || os(Linux)
    case .postgres(let url, let options):
      return PostgresPeer(url: url, schema: options.schema, isDurable: mode == .full)
    #endif
    case .file(let url): return SQLitePeer(file: url, isFull: mode == .full)
    default: throw BenchmarkError("there is no peer of \(location)")
    }
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  #if os(macOS) || os(Linux)
  /// Deletes the waiting jobs, as the queues of many processes would in time. The returned
  /// connection has a transaction that still sees them, until it is released.
  func leaveDead() throws -> BareConnection {
    guard case .postgres(let url, let options) = location else { throw BenchmarkError("\(location) is no server") }
    let snapshot = BareConnection(url: url), others = BareConnection(url: url)
    let jobs = "\"\(options.schema)\".jobs"
    snapshot.run("BEGIN ISOLATION LEVEL REPEATABLE READ")
    snapshot.run("SELECT count(*) FROM \(jobs)")
    others.run("UPDATE \(jobs) SET state = 3, worker = 1, claim = 1 WHERE state = 0")
    others.run("DELETE FROM \(jobs)")
    waiting.withLock { $0 = 0 }
    return snapshot
  }
  #endif

  func enqueue(_ count: Int, inBatchesOf size: Int) {
    do {
      if size == 1 {
        for _ in 0..<count { try queues[0].enqueue(Letter()) }
      } else {
        let letters = (0..<size).map { _ in Letter() }
        for _ in 0..<count / size { try queues[0].enqueue(contentsOf: letters) }
      }
    } catch { preconditionFailure("\(error)") }
    waiting.withLock { $0 += count }
  }

  func enqueueAtPeer(_ count: Int, inBatchesOf size: Int) {
    peers[0].enqueue(count, payload: payload, inBatchesOf: size)
    waitingAtPeer.withLock { $0 += count }
  }

  /// Runs `count` of the stored jobs, and a few more that were claimed with them. If there are not
  /// enough, it stores some first, which makes the round slow.
  func run(_ count: Int) async {
    if waiting.withLock({ $0 }) < count + queues.count * 1_000 { enqueue(20 * count, inBatchesOf: 1_000) }
    await runStored(count)
  }

  func runAtPeer(_ count: Int) {
    if waitingAtPeer.withLock({ $0 }) < count { enqueueAtPeer(20 * count, inBatchesOf: 1_000) }
    onThreads(peers.count) { [peers] number in
      for _ in 0..<count / 100 / peers.count { peers[number].claimAndAcknowledge(100) }
    }
    waitingAtPeer.withLock { $0 -= count }
  }

  func enqueueAndRun(_ count: Int) async {
    enqueue(count, inBatchesOf: 100)
    await runStored(count)
  }

  private func runStored(_ count: Int) async {
    await withCheckedContinuation { continuation in
      runs.withLock { $0 = (0, count, continuation) }
      for queue in queues { queue.start() }
    }
    await withTaskGroup { group in
      for queue in queues { group.addTask { await queue.stop() } }
    }
    let ran = runs.withLock(\.count)
    waiting.withLock { $0 -= ran }
  }
}
