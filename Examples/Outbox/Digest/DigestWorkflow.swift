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
/// When a task has finished, the job's checkpoint gets a snapshot of the workflow. An attempt that finds one, because
/// the process before was killed, goes on after the tasks in it.
final class DigestWorkflow: Sendable {
  /// What a digest says about a message.
  struct Entry: Codable, Equatable, Sendable {
    var name: String
    var bytes: Int
    var words: Int
    var isSent: Bool
  }

  private let workflow: Workflow
  private let context: JobContext
  private let label: String

  /// Makes the workflow, as far as it has got.
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

  /// An operation that succeeds when the digest is sent. It fails with what the task that failed has failed with, which
  /// says when the job runs again.
  func makeOperation() -> SimpleOperation<Void> {
    workflow.makeOperation().map { [self] _ in withExtendedLifetime(self) {} }
      .recover { error -> SimpleOperation<Void> in
        throw (error as? WorkflowError)?.failures.first?.error ?? error
      }
  }

  /// None if somebody has deleted the message.
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
  /// Tasks that need this one run after the checkpoint is on the disk: it is short, and nothing else waits for it.
  func workflow(_ workflow: Workflow, didReceive event: WorkflowEvent) {
    guard event.kind == .finished, let task = event.task else { return }
    do {
      try context.checkpoint(JSONEncoder().encode(workflow.snapshot()))
      if !workflow.hasUnfinishedTasks { return }
      OutboxCommand.tell("\(label)  \(task.name)")
    } catch {
      // Another process has the job, or the disk is full: what was not noted is done again.
      OutboxCommand.tell("\(label)  \(task.name), but that can not be noted: \(error)")
    }
  }
}
