/// The results of a task's prerequisites, as they were when the attempt started.
public struct PrerequisiteResults: Sendable {
  let workflow: Workflow
  /// The place of the task whose prerequisites they are.
  let task: Int
  let plan: AnyTaskPlan
  /// The results, in the order of the plan's prerequisites.
  let values: [any Sendable]

  var taskName: String { plan.name(at: task) }

  /// The result of the prerequisite with this key.
  ///
  /// Traps if there is no such key, or if the result is of another type. Look keys that may be
  /// missing up in ``keyed``.
  public subscript<Value>(key: String, as type: Value.Type = Value.self) -> Value {
    guard let index = plan.keys.firstIndex(of: key) else {
      let known = plan.keys.isEmpty ? "It has none." : "It has: \(plan.keys.map { "“\($0)”" }.joined(separator: ", "))."
      fatalError(
        "The task “\(taskName)” has no prerequisite with the key “\(key)”. \(known) Give it one when you add the task, "
          + "with keyed: [\"\(key)\": …].")
    }
    guard let value = values[index] as? Value else {
      fatalError(
        "The task “\(taskName)” reads its prerequisite “\(key)” (“\(workflow.handle(plan.prerequisites[index]).name)”) "
          + "as \(Value.self), but its result is of the type \(Swift.type(of: values[index])). Ask for that type.")
    }
    return value
  }

  /// The result of a prerequisite. Traps if the task is no prerequisite of this one.
  public subscript<Value>(task: WorkflowTask<Value>) -> Value {
    guard task.workflow === workflow, let index = plan.prerequisites.firstIndex(of: task.index) else {
      fatalError(
        "The task “\(taskName)” reads the result of “\(task.name)”, which is not one of its prerequisites. Make it one "
          + "when you add the task, with keyed: or unkeyed:.")
    }
    return values[index] as! Value
  }

  /// All results, one for each prerequisite, in the order in which these were added to the
  /// workflow.
  public var all: [any Sendable] { values(from: 0, but: []) }

  /// The results of the prerequisites that have no key, in the order in which these were added to
  /// the workflow.
  public var unkeyed: [any Sendable] {
    values(from: plan.keys.count, but: Set(plan.prerequisites.prefix(plan.keys.count)))
  }

  /// The results of the prerequisites that have a key.
  public var keyed: [String: any Sendable] {
    Dictionary(uniqueKeysWithValues: zip(plan.keys, values).map { ($0, $1) })
  }

  private func values(from start: Int, but excluded: Set<Int>) -> [any Sendable] {
    var known = excluded
    return zip(plan.prerequisites, values).dropFirst(start)
      .filter { known.insert($0.0).inserted }
      .sorted { $0.0 < $1.0 }
      .map(\.1)
  }
}

/// Takes the results one after the other, for closures with typed arguments.
struct TypedInputs {
  private let values: [any Sendable]
  private var next = 0

  init(_ results: PrerequisiteResults) {
    values = results.values
  }

  mutating func take<Value>(_ type: Value.Type) -> Value {
    defer { next += 1 }
    return values[next] as! Value
  }
}
