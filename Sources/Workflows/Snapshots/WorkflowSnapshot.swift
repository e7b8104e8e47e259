import Foundation

/// The results of a workflow's finished tasks, by their names, to be kept in a file and to go on with in another process.
///
/// ``Workflow/snapshot()`` makes it, ``Workflow/restore(_:)`` reads it. Encode it with any encoder. The results in it are
/// JSON text, so it can be read by people, too.
public struct WorkflowSnapshot: Codable, Sendable, Equatable {
  /// What is known of one task.
  struct Entry: Codable, Sendable, Equatable {
    /// Whether the task has finished; a subworkflow is here in any case.
    var isFinished: Bool
    /// The result as JSON; nil for one of type `Void`, and for a subworkflow.
    var result: String?
    var finishDate: Date?
    var subworkflow: WorkflowSnapshot?

    init(isFinished: Bool, result: String? = nil, finishDate: Date?, subworkflow: WorkflowSnapshot? = nil) {
      self.isFinished = isFinished
      self.result = result
      self.finishDate = finishDate
      self.subworkflow = subworkflow
    }
  }

  /// The name of the workflow that it was made of.
  public let workflowName: String
  var tasks: Entries = Entries()

  /// The names of the finished tasks in it, without those of subworkflows, sorted.
  public var finishedTasks: [String] {
    tasks.entries.filter(\.value.isFinished).keys.sorted()
  }
}

extension WorkflowSnapshot {
  /// A snapshot has entries, and an entry may have a snapshot: so one of the two must be elsewhere in memory.
  struct Entries: Codable, Sendable, Equatable {
    var entries: [String: Entry] = [:]

    init() {}

    init(from decoder: any Decoder) throws {
      entries = try [String: Entry](from: decoder)
    }

    func encode(to encoder: any Encoder) throws {
      try entries.encode(to: encoder)
    }
  }
}
