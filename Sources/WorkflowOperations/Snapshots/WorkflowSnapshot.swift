import Foundation

/// The results of a workflow's finished tasks, by their names, to be kept in a file and to go on with in another process.
///
/// ``Workflow/snapshot()`` makes it, ``Workflow/restore(_:)`` reads it. Encode it with any encoder. The results in it are
/// JSON text, so it can be read by people, too.
public struct WorkflowSnapshot: Sendable, Equatable {
  /// What is known of one task.
  struct Entry: Codable, Sendable, Equatable {
    /// Whether the task has finished; a subworkflow is here in any case.
    var isFinished: Bool
    /// The result as JSON; nil for one of type `Void`, and for a subworkflow.
    var result: String?
    var finishDate: Date?
  }

  /// What is known of the tasks of one workflow.
  struct Part: Sendable, Equatable {
    var workflowName: String
    /// The part of the workflow that this one is in, and the name of its task there; nil for the outermost.
    var place: Place?
    var tasks: [String: Entry] = [:]
  }

  /// A task of the workflow of a part.
  struct Place: Sendable, Hashable {
    let part: Int
    let task: String
  }

  /// The workflow, then those inside of it, each after the one that it is in. One after the other and not inside each other,
  /// for they may nest deeper than decoders and stacks go.
  var parts: [Part]

  init(parts: [Part]) {
    self.parts = parts
  }

  /// The name of the workflow that it was made of.
  public var workflowName: String { parts[0].workflowName }

  /// The names of the finished tasks in it, without those of subworkflows, sorted.
  public var finishedTasks: [String] {
    parts[0].tasks.filter(\.value.isFinished).keys.sorted()
  }
}
