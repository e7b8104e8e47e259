import CompositeOperations
import DurableOperations
import ExampleSupport
import Foundation

/// Sends the stored messages, until all are sent or the program should end.
struct SendingRun {
  private enum End: Sendable {
    case everythingIsSettled
    case request
    case failure(any Error)
  }

  let options: RunOptions

  init(_ options: RunOptions) {
    self.options = options
  }

  /// Returns the exit status.
  func run() async throws -> Int32 {
    ProxyExceptions.addThisMachine()
    let queue = try options.database.open(width: options.width)
    let sender = Sender(options)
    try await queue.register(Message.self) { message, context in sender.operation(sending: message, context) }
    try await queue.register(Digest.self, maxConcurrent: 1) { [weak queue] digest, context in
      guard let queue else { throw CancellationError() }
      return try DigestWorkflow(of: digest, from: queue, context, sender).makeOperation()
    }
    let place = options.database.words
    for kind in try await queue.counts().kinds where kind.isPaused {
      OutboxCommand.tell("The kind “\(kind.kind)” is paused: durable-queue resume \(place) \(kind.kind)")
    }
    tellOfRescues(queue.events())

    let (ends, end) = AsyncStream.makeStream(of: End.self)
    let requests = await EndRequest(atEndOfInput: options.endsWithInput) { end.yield(.request) }
    let outlook = try Outlook(of: queue, database: options.database)
    let server = HiddenPassword.hiding(in: options.server.absoluteString)
    OutboxCommand.tell("\(outlook.toBeSent) to be sent to \(server)")
    for note in outlook.notes { OutboxCommand.tell(note) }
    queue.start()
    Task { [options] in
      do {
        try await Self.waitUntilSettled(queue)
        if !options.stays { end.yield(.everythingIsSettled) }
      } catch {
        end.yield(.failure(error))
      }
    }
    let first = await ends.first { _ in true }
    if case .request = first { OutboxCommand.tell("Asked to end; a second time ends it at once.") }
    // Running messages may go on for a while; those that do not end by then wait again, and lose no
    // attempt.
    await queue.stop(grace: options.grace)
    withExtendedLifetime(requests) {}
    return try await conclude(first, queue, sender)
  }

  /// Returns when no message will be sent any longer, neither now nor later.
  private static func waitUntilSettled(_ queue: DurableQueue) async throws {
    while true {
      do {
        try await queue.waitUntilIdle()
        let later = try [Message.kind, Digest.kind].flatMap { kind in
          try queue.jobs(kind: kind, in: [.scheduled, .waiting, .executing], limit: 100)
        }
        if later.isEmpty { return }
        // Snoozing messages are idle until their time comes.
        let next = later.compactMap(\.runAt).min().map { $0.timeIntervalSinceNow } ?? 0
        try await Task.sleep(for: .seconds(min(max(next, 0.02), 1)))
      } catch let error as DatabaseError where [.connectionLost, .cannotConnect].contains(error.code) {
        // The database server is unreachable. The queue waits for it, and so does this: the
        // messages stored there must still be sent.
        try await Task.sleep(for: .seconds(1))
      }
    }
  }

  private func tellOfRescues(_ events: AsyncStream<JobEvent>) {
    Task {
      for await event in events {
        switch event.kind {
        case .rescued:
          OutboxCommand.tell("Taken over from a process that has ended: \(Wording.count(event.jobIDs.count, "job")).")
        case .databaseBack: OutboxCommand.tell("What the messages are stored on works again.")
        case .databaseFailed: if let error = event.error { OutboxCommand.complain("\(error)") }
        default: break
        }
      }
    }
  }

  private func conclude(_ end: End?, _ queue: DurableQueue, _ sender: Sender) async throws -> Int32 {
    if case .failure(let error) = end { throw error }
    let counts = try await queue.counts()[Message.kind]
    OutboxCommand.tell(Status.sentence(counts))
    if case .request = end {
      OutboxCommand.tell("Run it again to go on.")
      return OutboxCommand.ExitStatus.good
    }
    if let tally = await sender.tally() {
      let again =
        switch tally.duplicates {
        case 0: "none came again"
        case 1: "1 came again, and was recognised by its id"
        default: "\(tally.duplicates) came again, and were recognised by their ids"
        }
      OutboxCommand.tell("The server has \(Wording.count(tally.accepted, "message")), each once; \(again).")
    }
    let all = try await queue.counts()
    let unsent = all.total - all[.done]
    guard unsent > 0 else { return OutboxCommand.ExitStatus.good }
    OutboxCommand.complain(
      "\(Wording.count(unsent, "job")) could not be done: Outbox status\(options.database.options) tells why.")
    return OutboxCommand.ExitStatus.failed
  }
}
