import DurableOperations
import ExampleSupport
import Foundation

/// Prints the state of the messages.
struct Status {
  /// The maximum number of listed jobs.
  static let longestList = 100

  let database: Database

  func print() throws -> Int32 {
    let queue = try database.open()
    let counts = try queue.counts()
    var text = Self.sentence(counts[Message.kind]) + "\n"
    if let digests = counts[Digest.kind], digests.total > 0 {
      text += "\(Wording.count(digests.total, "digest")): \(Self.list(digests)).\n"
    }
    let unsent = try queue.jobs(in: Self.unsent, limit: Self.longestList + 1)
    var table = Table(sides: [.right])
    for record in unsent.prefix(Self.longestList) {
      let name = try? record.decoded(as: Message.self).name
      let attempts = record.attempts == 0 ? "" : Wording.count(record.attempts, "attempt")
      let error = record.lastError.map { Wording.shortened(Wording.plain($0), to: 100) } ?? ""
      table.add("\(record.id)", Wording.plain(name ?? record.kind), "\(record.state)", attempts, error)
    }
    text += table.text
    if unsent.count > Self.longestList { text += "  \(rest(counts, after: unsent[Self.longestList - 1]))\n" }
    for note in try Outlook(of: queue, database: database).notes { text += "\(note)\n" }
    try StandardStream.output.write(text)
    return OutboxCommand.ExitStatus.good
  }

  private static let unsent = Set(JobState.allCases).subtracting([.done])

  /// The number of jobs beyond the list, and the command that shows them.
  private func rest(_ counts: JobCounts, after last: JobRecord) -> String {
    // More may have been sent since the count.
    let count = max(1, counts.total - counts[.done] - Self.longestList)
    let states = JobState.allCases.filter { Self.unsent.contains($0) && counts[$0] > 0 }.map(\.description)
    return "… and \(count) more: durable-queue list \(database.words) --after \(last.id.rawValue) "
      + "--state \(states.joined(separator: ","))"
  }

  /// Such as “20 messages: 17 sent, 3 waiting.”
  static func sentence(_ counts: JobCounts.Kind?) -> String {
    guard let counts, counts.total > 0 else { return "There are no messages." }
    return "\(Wording.count(counts.total, "message")): \(list(counts))."
  }

  private static func list(_ counts: JobCounts.Kind) -> String {
    let states: [JobState] = [.done, .executing, .waiting, .scheduled, .blocked, .held, .cancelled, .dead]
    return states.filter { counts[$0] > 0 }.map { state in
      "\(counts[state]) \(state == .done ? "sent" : state.description)"
    }.joined(separator: ", ") + (counts.isPaused ? " (paused)" : "")
  }
}
