import CompositeOperationsCommandLine
import DurableOperations
import Foundation
import TestSupport

@testable import DurableQueueTool

struct Mail: Job {
  static let kind = "mail"
  var to: String
}

struct Resize: Job {
  static let kind = "resize"
  var width: Double
}

/// The database file of a queue in a folder of its own; both go when the test does.
final class Sample: Sendable {
  let folder: URL
  var path: String { folder.appendingPathComponent("jobs.sqlite").path }

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("DurableQueueToolTests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit {
    try? FileManager.default.removeItem(at: folder)
  }

  /// How many bytes the file and its log take.
  var size: Int {
    ["", "-wal"].reduce(0) { sum, end in
      sum + ((try? FileManager.default.attributesOfItem(atPath: path + end))?[.size] as? Int ?? 0)
    }
  }

  /// A queue of the library's on the file.
  func queue() throws -> DurableQueue {
    var configuration = DurableQueue.Configuration()
    configuration.durability = .normal
    configuration.retention = .forever
    configuration.busyTimeout = .seconds(60)
    return try DurableQueue(location: .file(URL(fileURLWithPath: path)), configuration: configuration)
  }

  /// Jobs in all states but executing: their names are the states.
  static func withJobs() async throws -> (sample: Sample, ids: [JobState: JobID]) {
    let sample = try Sample()
    let ids = try await sample.addJobs()
    // The queue closes the file on another thread, which locks it meanwhile.
    await until(!FileManager.default.fileExists(atPath: sample.path + "-wal"))
    return (sample, ids)
  }

  private func addJobs() async throws -> [JobState: JobID] {
    let queue = try queue()
    var ids: [JobState: JobID] = [:]
    ids[.done] = try await queue.enqueue(Mail(to: "done"))
    ids[.dead] = try await queue.enqueue(Mail(to: "dead"), options: JobOptions(maxAttempts: 1))
    try await queue.register(Mail.self) { (mail, _) async throws in
      if mail.to == "dead" { throw Refusal() }
    }
    let events = queue.events()
    queue.start()
    var ended = 0
    for await event in events {
      guard [.done, .dead].contains(event.kind) else { continue }
      ended += 1
      if ended == 2 { break }
    }
    await queue.stop()
    ids[.waiting] = try await queue.enqueue(
      Mail(to: "waiting"), options: JobOptions(priority: .low, uniqueKey: UniqueKey("ada")))
    ids[.scheduled] = try await queue.enqueue(Resize(width: 2.5), options: JobOptions(start: .after(.seconds(7200))))
    ids[.held] = try await queue.enqueue(Mail(to: "held"), options: JobOptions(startsHeld: true))
    if let waiting = ids[.waiting] {
      ids[.blocked] = try await queue.enqueue(Mail(to: "blocked"), options: JobOptions(dependsOn: [waiting]))
    }
    let cancelled = try await queue.enqueue(Mail(to: "cancelled"))
    try await queue.cancel(cancelled)
    ids[.cancelled] = cancelled
    return ids
  }
}

struct Refusal: Error, CustomStringConvertible {
  let description = "550 no such\nmailbox\u{1B}[31m"
}

/// What the tool did.
struct Ran: Sendable {
  var status: Int32
  var output = ""
  var errors = ""

  var lines: [String] { output.split(separator: "\n").map(String.init) }

  func json() throws -> Any {
    try JSONSerialization.jsonObject(with: Data(output.utf8))
  }
}

/// Runs the tool in this process.
func tool(
  _ arguments: String..., width: Int? = nil, now: Date = Date(), environment: [String: String] = [:]
) -> Ran {
  tool(arguments, width: width, now: now, environment: environment)
}

extension Verb {
  /// The words behind it in its example, as far as they are its own.
  var exampleWords: [String] {
    example.split(separator: " ").prefix { $0 != ">" && $0 != "|" }.map(String.init)
  }
}

/// Runs the tool in this process.
func tool(
  _ arguments: [String], width: Int? = nil, now: Date = Date(), environment: [String: String] = [:]
) -> Ran {
  let ran = Locked(Ran(status: -1))
  let command = DurableQueueCommand(width: width, now: now, environment: environment) { text in
    ran.withLock { $0.output += text }
  } errors: { text in
    ran.withLock { $0.errors += text }
  }
  let status = command.run(arguments)
  ran.withLock { $0.status = status }
  return ran.current
}
