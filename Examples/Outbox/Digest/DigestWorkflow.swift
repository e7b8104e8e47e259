import CompositeOperations
import DurableOperations
import ExampleSupport
import Foundation
import WorkflowOperations

/// A digest as a workflow: a task for each message, and one that sends what they found.
///
/// ```
/// read #1 ──┐
/// read #2 ──┼──▶ send
/// read #3 ──┘
/// ```
///
/// After each task, the job's checkpoint gets a snapshot of the workflow. If the process is killed,
/// the next attempt finds the snapshot, and continues after the tasks in it.
final class DigestWorkflow: Sendable {
  /// An entry of a digest, about one message.
  struct Entry: Codable, Equatable, Sendable {
    var name: String
    var bytes: Int
    var words: Int
    var isSent: Bool
  }

  private let workflow: Workflow
  private let context: JobContext
  private let label: String

  /// Makes the workflow, restored from the checkpoint if there is one.
  init(of digest: Digest, from queue: DurableQueue, _ context: JobContext, _ sender: Sender) throws {
    self.context = context
    let label = "\(context.id) digest"
    self.label = label
    workflow = Workflow("digest")
    workflow.maxConcurrentOperationCount = 2
    let readings = digest.messages.map { id in
      workflow.add("read \(id)") {
        DelayOperation(sender.pace).map { try Self.entries(queue.job(id)) }
      }
    }
    workflow.add("send", unkeyed: readings) { results in
      let entries = results.unkeyed.flatMap { $0 as? [Entry] ?? [] }
      return sender.post(
        Data(Self.text(of: entries).utf8), name: "digest \(context.id)",
        key: context.idempotencyKey, to: "digests"
      ).map { _ in
        OutboxCommand.tell("\(label)  sent, of \(Wording.count(entries.count, "message"))")
      }.recover { error -> SimpleOperation<Void> in
        throw Sender.verdict(on: error, of: label)
      }
    }
    if let data = context.checkpoint {
      let snapshot = try JSONDecoder().decode(WorkflowSnapshot.self, from: data)
      try workflow.restore(snapshot)
      OutboxCommand.tell(
        "\(label)  goes on after \(snapshot.finishedTasks.count) of \(digest.messages.count + 1) tasks")
    }
    workflow.delegate = self
  }

  /// Returns an operation that succeeds when the digest is sent. It fails with the error of the
  /// task that failed, which decides when the job runs again.
  func makeOperation() -> SimpleOperation<Void> {
    workflow.makeOperation().map { [self] _ in withExtendedLifetime(self) {} }
      .recover { error -> SimpleOperation<Void> in
        throw (error as? WorkflowError)?.failures.first?.error ?? error
      }
  }

  /// Empty if the message was deleted.
  private static func entries(_ record: JobRecord?) throws -> [Entry] {
    guard let record else { return [] }
    let message = try record.decoded(as: Message.self)
    let words = String(decoding: message.content, as: UTF8.self).split(whereSeparator: \.isWhitespace).count
    return [Entry(name: message.name, bytes: message.content.count, words: words, isSent: record.state == .done)]
  }

  static func text(of entries: [Entry]) -> String {
    var table = Table(sides: [.left, .right, .right], indentation: "")
    for entry in entries {
      table.add(
        Wording.plain(entry.name), Wording.size(entry.bytes), Wording.count(entry.words, "word"),
        entry.isSent ? "" : "not sent")
    }
    return table.text
  }
}

extension DigestWorkflow: WorkflowDelegate {
  /// Tasks that need this one run after the checkpoint is on the disk: it is short, and nothing
  /// else waits for it.
  func workflow(_ workflow: Workflow, didReceive event: WorkflowEvent) {
    guard event.kind == .finished, let task = event.task else { return }
    do {
      try context.checkpoint(JSONEncoder().encode(workflow.snapshot()))
      if !workflow.hasUnfinishedTasks { return }
      OutboxCommand.tell("\(label)  \(task.name)")
    } catch {
      // Another process has the job, or the disk is full: the next attempt repeats the task.
      OutboxCommand.tell("\(label)  \(task.name), but that cannot be noted: \(error)")
    }
  }
}
