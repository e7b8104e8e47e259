import Foundation

/// The results of a workflow's finished tasks, by their names, to store and to go on with in
/// another process.
///
/// ``Workflow/snapshot()`` makes it, ``Workflow/restore(_:)`` reads it. Encode it with any encoder.
/// It contains results as JSON text, which people can read, too.
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
    /// The part of the workflow that this one is in, and the name of its task there; nil for the
    /// outermost.
    var place: Place?
    var tasks: [String: Entry] = [:]
    /// The places of all tasks that have no name, in order.
    var unnamed: [Int] = []
  }

  /// A task of the workflow of a part.
  struct Place: Sendable, Hashable {
    let part: Int
    let task: String
  }

  /// The workflow, then those inside of it, each after the one that it is in. One after the other
  /// and not inside each other, for they may nest deeper than decoders and stacks go.
  var parts: [Part]

  /// The names of the finished tasks in it, without those of subworkflows, sorted.
  public var finishedTasks: [String] {
    parts[0].tasks.filter(\.value.isFinished).keys.sorted()
  }
}

/// The workflow is written as it is, and those inside of it as a list: each with the number of the
/// workflow that it is in, which is 0 for the outermost and n for the nth of the list, and the name
/// of its task there.
///
/// Before, each stood inside the entry of its task. That is still read.
extension WorkflowSnapshot: Codable {
  private enum Key: String, CodingKey {
    case workflowName, tasks, unnamed, subworkflows
    // Of one of the list.
    case parent, task
    // Of an entry that has a workflow inside.
    case subworkflow
  }

  /// An entry, and the workflow that stands inside of it. Read from a dictionary, as it was
  /// written: a decoder that converts keys leaves those of dictionaries, which are names of tasks.
  private struct NestedEntry: Decodable {
    let entry: Entry
    /// Not decoded yet, for it may have others inside.
    var inside: KeyedDecodingContainer<Key>?

    init(from decoder: any Decoder) throws {
      entry = try Entry(from: decoder)
      let container = try decoder.container(keyedBy: Key.self)
      guard container.contains(.subworkflow), try !container.decodeNil(forKey: .subworkflow) else { return }
      inside = try container.nestedContainer(keyedBy: Key.self, forKey: .subworkflow)
    }
  }

  /// Encodes all of it.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try encode(parts[0], into: &container)
    guard parts.count > 1 else { return }
    var list = container.nestedUnkeyedContainer(forKey: .subworkflows)
    for part in parts.dropFirst() {
      var container = list.nestedContainer(keyedBy: Key.self)
      try encode(part, into: &container)
      try container.encodeIfPresent(part.place?.part, forKey: .parent)
      try container.encodeIfPresent(part.place?.task, forKey: .task)
    }
  }

  private func encode(_ part: Part, into container: inout KeyedEncodingContainer<Key>) throws {
    try container.encode(part.workflowName, forKey: .workflowName)
    try container.encode(part.tasks, forKey: .tasks)
    if !part.unnamed.isEmpty { try container.encode(part.unnamed, forKey: .unnamed) }
  }

  private static func decode(_ container: KeyedDecodingContainer<Key>, at place: Place?) throws -> Part {
    Part(
      workflowName: try container.decode(String.self, forKey: .workflowName), place: place,
      tasks: try container.decode([String: Entry].self, forKey: .tasks),
      unnamed: try container.decodeIfPresent([Int].self, forKey: .unnamed) ?? [])
  }

  /// Decodes it, also if it was written with the workflows inside each other.
  ///
  /// - Throws: `DecodingError`.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    guard container.contains(.subworkflows) else {
      self.init(parts: try WorkflowSnapshot.readNested(container))
      return
    }
    var parts = [try WorkflowSnapshot.decode(container, at: nil)]
    var places: Set<Place> = []
    var list = try container.nestedUnkeyedContainer(forKey: .subworkflows)
    while !list.isAtEnd {
      let container = try list.nestedContainer(keyedBy: Key.self)
      let place = Place(
        part: try container.decode(Int.self, forKey: .parent), task: try container.decode(String.self, forKey: .task))
      guard parts.indices.contains(place.part) else {
        throw DecodingError.dataCorruptedError(
          forKey: .parent, in: container,
          debugDescription:
            "A workflow stands after the one that it is in, and there is none with the number \(place.part).")
      }
      guard places.insert(place).inserted else {
        throw DecodingError.dataCorruptedError(
          forKey: .task, in: container,
          debugDescription:
            "There are two workflows for the task “\(place.task)” of the one with the number \(place.part).")
      }
      parts.append(try WorkflowSnapshot.decode(container, at: place))
    }
    self.init(parts: parts)
  }

  /// Reads a workflow and those that stand inside of its entries, and inside of theirs, without
  /// recursion.
  private static func readNested(_ outermost: KeyedDecodingContainer<Key>) throws -> [Part] {
    var parts: [Part] = []
    var pending: [(container: KeyedDecodingContainer<Key>, place: Place?)] = [(outermost, nil)]
    while let (container, place) = pending.popLast() {
      var part = Part(workflowName: try container.decode(String.self, forKey: .workflowName), place: place)
      part.unnamed = try container.decodeIfPresent([Int].self, forKey: .unnamed) ?? []
      let tasks = try container.decode([String: NestedEntry].self, forKey: .tasks)
      for (name, task) in tasks.sorted(by: { $0.key < $1.key }) {
        part.tasks[name] = task.entry
        if let inside = task.inside { pending.append((inside, Place(part: parts.count, task: name))) }
      }
      parts.append(part)
    }
    return parts
  }
}
