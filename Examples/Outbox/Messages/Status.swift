import DurableOperations
import ExampleSupport
import Foundation

/// Tells what has become of the messages.
struct Status {
  let database: String

  func print() throws -> Int32 {
    let queue = try Database.open(database)
    let counts = try queue.counts()
    var text = Self.sentence(counts[Message.kind]) + "\n"
    if let digests = counts[Digest.kind], digests.total > 0 {
      text += "\(Wording.count(digests.total, "digest")): \(Self.list(digests))\n"
    }
    var table = Table(sides: [.right])
    for record in try queue.jobs(in: Set(JobState.allCases).subtracting([.done]), limit: 100) {
      let name = try? record.decoded(as: Message.self).name
      let attempts = record.attempts == 0 ? "" : Wording.count(record.attempts, "attempt")
      let error = record.lastError.map { Wording.shortened(Wording.plain($0), to: 100) } ?? ""
      table.add("\(record.id)", Wording.plain(name ?? record.kind), "\(record.state)", attempts, error)
    }
    try StandardStream.output.write(text + table.text)
    return OutboxCommand.ExitStatus.good
  }

  /// Such as “20 messages: 17 done, 3 waiting”.
  static func sentence(_ counts: JobCounts.Kind?) -> String {
    guard let counts, counts.total > 0 else { return "There are no messages." }
    return "\(Wording.count(counts.total, "message")): \(list(counts))"
  }

  private static func list(_ counts: JobCounts.Kind) -> String {
    let states: [JobState] = [.done, .executing, .waiting, .scheduled, .blocked, .held, .cancelled, .dead]
    return states.filter { counts[$0] > 0 }.map { state in
      "\(counts[state]) \(state == .done ? "sent" : state.description)"
    }.joined(separator: ", ") + (counts.isPaused ? " (paused)" : "")
  }
}
