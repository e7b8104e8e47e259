#if os(macOS) || os(Linux)
import CompositeOperations
import DurableOperations
import Foundation
import TestSupport

/// A queue in a database of its own, with a long transaction that still sees deleted jobs: they
/// stay in the table, where each claim could scan them.
final class BehindDeadJobs: Sendable {
  static let shared = Result { try BehindDeadJobs(100_000, stored: 20_000) }

  let durable: Durable
  private let snapshot: BareConnection

  init(_ dead: Int, stored: Int) throws {
    let server = try PostgresServer.sharedBlocking()
    let database = "snapshot\(server.uniqueNumber())"
    try server.query("CREATE DATABASE \(database)")
    durable = try Durable(.normal, on: .postgres, stored: dead, inRoundsOf: 10, database: database)
    snapshot = try durable.leaveDead()
    durable.enqueue(stored, inBatchesOf: 10_000)
  }
}

/// Jobs that many threads enqueue at the same time through one queue, while other queues are
/// notified; and bare connections, one for each thread, that notify nothing.
final class Crowd: Sendable {
  static let sixteen = Result { try Crowd(16) }

  private let queue: DurableQueue
  private let listeners: [DurableQueue]
  private let peers: [PostgresPeer]
  private let payload: [UInt8]

  init(_ count: Int) throws {
    let server = try PostgresServer.sharedBlocking()
    var configuration = DurableQueue.Configuration()
    configuration.durability = .normal
    // One more queue, which runs jobs.
    let options = PostgresOptions(schema: "queue\(server.uniqueNumber())", maxConnections: count + 1)
    let location = DurableQueue.Location.postgres(server.url(), options)
    queue = try DurableQueue(location: location, configuration: configuration)
    listeners = try (0..<2).map { _ in try DurableQueue(location: location, configuration: configuration) }
    for queue in [queue] + listeners { try queue.register(Letter.self) { _, _ in emptyOperation() } }
    // They query the jobs on each notification, and claim none.
    try queue.pause(kind: Letter.kind)
    for queue in [queue] + listeners { queue.start() }
    let schema = "peer\(server.uniqueNumber())"
    try DurableQueue(location: .postgres(server.url(), PostgresOptions(schema: schema))).register(Letter.self) { _, _ in
      emptyOperation()
    }
    peers = (0..<count).map { _ in PostgresPeer(url: server.url(), schema: schema, isDurable: false) }
    payload = Array(try JSONEncoder().encode(Letter()))
  }

  func enqueue(_ count: Int) {
    onThreads(peers.count) { [queue, peers] _ in
      do {
        for _ in 0..<count / peers.count { try queue.enqueue(Letter()) }
      } catch { preconditionFailure("\(error)") }
    }
  }

  func enqueueAtPeer(_ count: Int) {
    onThreads(peers.count) { [peers, payload] number in
      peers[number].enqueue(count / peers.count, payload: payload, inBatchesOf: 1)
    }
  }
}

/// The time from the enqueuing of a job in one queue until an idle queue, notified by the server,
/// starts it; and the same with bare connections.
final class Delivery: Sendable {
  static let shared = Result { try Delivery() }

  private let sender: DurableQueue
  private let receiver: DurableQueue
  private let startedAt = LockBox(ContinuousClock.Instant?.none)
  private let started = DispatchSemaphore(value: 0)
  private let peers: (sender: PostgresPeer, receiver: PostgresPeer)
  private let listener: BareConnection
  private let payload: [UInt8]

  /// A queue delays notifications within 20 ms of the last one; this pause is longer.
  private static let pause = 0.024

  init() throws {
    let server = try PostgresServer.sharedBlocking()
    var configuration = DurableQueue.Configuration()
    configuration.durability = .normal
    let location = DurableQueue.Location.postgres(
      server.url(), PostgresOptions(schema: "queue\(server.uniqueNumber())"))
    sender = try DurableQueue(location: location, configuration: configuration)
    receiver = try DurableQueue(location: location, configuration: configuration)
    let schema = "peer\(server.uniqueNumber())"
    try DurableQueue(location: .postgres(server.url(), PostgresOptions(schema: schema))).register(Letter.self) { _, _ in
      emptyOperation()
    }
    func peer() -> PostgresPeer { PostgresPeer(url: server.url(), schema: schema, isDurable: false) }
    peers = (peer(), peer())
    listener = BareConnection(url: server.url())
    listener.run("LISTEN \"\(schema)\"")
    payload = Array(try JSONEncoder().encode(Letter()))
    try sender.register(Letter.self) { _, _ in emptyOperation() }
    try receiver.register(Letter.self) { [startedAt, started] _, _ in
      SimpleOperation {
        startedAt.withLock { $0 = .now }
        started.signal()
        $0.finish()
      }
    }
    receiver.start()
  }

  /// The nanoseconds of each of `count` jobs, one after the other.
  func times(_ count: Int) -> [Double] {
    (0..<count).map { _ in
      Thread.sleep(forTimeInterval: Self.pause)
      let begin = ContinuousClock.now
      do { try sender.enqueue(Letter()) } catch { preconditionFailure("\(error)") }
      started.wait()
      return (startedAt.withLock { $0.take() }! - begin).nanoseconds
    }
  }

  /// The same on two threads, one of which only waits for a notification, claims and acknowledges.
  func timesAtPeer(_ count: Int) -> [Double] {
    let thread = Thread { [self] in
      var left = count
      while left > 0 {
        listener.waitForNotification()
        peers.receiver.claimAndAcknowledge(100)
        let claimed = peers.receiver.claimedCount
        guard claimed > 0 else { continue }
        startedAt.withLock { $0 = .now }
        left -= claimed
        started.signal()
        peers.receiver.claimAndAcknowledge(0)
      }
    }
    thread.start()
    return (0..<count).map { _ in
      Thread.sleep(forTimeInterval: Self.pause)
      let begin = ContinuousClock.now
      peers.sender.enqueue(1, payload: payload, inBatchesOf: 1)
      peers.sender.notify()
      started.wait()
      return (startedAt.withLock { $0.take() }! - begin).nanoseconds
    }
  }
}
#endif
