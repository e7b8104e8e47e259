import DurableOperations
import ExampleSupport

/// What a run will send, and what it will not.
struct Outlook {
  /// Such as “3 messages and 1 digest”.
  let toBeSent: String
  /// What will not be sent, and what to do about it: a line for each reason.
  let notes: [String]

  init(of queue: DurableQueue, database: Database) throws {
    let counts = try queue.counts()
    let stuck = try Self.digestsOfHeldMessages(queue)
    let states: [JobState] = [.waiting, .scheduled, .executing, .blocked]
    let messages = states.reduce(0) { $0 + (counts[Message.kind]?[$1] ?? 0) }
    let digests = states.reduce(-stuck) { $0 + (counts[Digest.kind]?[$1] ?? 0) }
    toBeSent = messages + digests == 0 ? "Nothing" : Self.list(messages, digests)

    let remedies: [(state: JobState, jobs: String, effect: String)] = [
      (.dead, "--all-dead", "sent again"), (.held, "--all-held", "sent too"), (.cancelled, "ID…", "sent after all"),
    ]
    var notes = remedies.compactMap { state, jobs, effect -> String? in
      let (messages, digests) = (counts[Message.kind]?[state] ?? 0, counts[Digest.kind]?[state] ?? 0)
      guard messages + digests > 0 else { return nil }
      let (verb, pronoun) = messages + digests == 1 ? ("is", "it") : ("are", "them")
      return "\(Self.list(messages, digests)) \(verb) \(state): "
        + "durable-queue retry \(database.words) \(jobs) has \(pronoun) \(effect)"
    }
    if stuck > 0 { notes.append("\(Wording.count(stuck, "digest")) cannot be sent before messages that are held") }
    self.notes = notes
  }

  private static func list(_ messages: Int, _ digests: Int) -> String {
    [(messages, "message"), (digests, "digest")].filter { $0.0 > 0 }.map(Wording.count).joined(separator: " and ")
  }

  /// How many digests wait for messages that will not be sent.
  private static func digestsOfHeldMessages(_ queue: DurableQueue) throws -> Int {
    let held = Set(try Database.jobs(Message.kind, in: [.held], of: queue).map(\.id))
    if held.isEmpty { return 0 }
    return try Database.jobs(Digest.kind, in: [.blocked], of: queue).count { record in
      try record.decoded(as: Digest.self).messages.contains(where: held.contains)
    }
  }
}
