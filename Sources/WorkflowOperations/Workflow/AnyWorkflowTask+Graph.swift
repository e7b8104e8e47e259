import CompositeOperations

// Where a task is in its graph.

extension AnyWorkflowTask {
  /// The tasks whose results this one needs, each once, in the order in which they were added to the workflow.
  public final var prerequisites: [AnyWorkflowTask] {
    handles(of: plan.prerequisites)
  }

  /// The prerequisites that were given with a key.
  public final var keyedPrerequisites: [String: AnyWorkflowTask] {
    let plan = plan
    return Dictionary(uniqueKeysWithValues: zip(plan.keys, plan.prerequisites).map { ($0, workflow.handle($1)) })
  }

  /// The prerequisites that were given without a key, and not also with one.
  public final var unkeyedPrerequisites: [AnyWorkflowTask] {
    let plan = plan
    let keyed = Set(plan.prerequisites.prefix(plan.keys.count))
    return handles(of: plan.prerequisites.dropFirst(plan.keys.count).filter { !keyed.contains($0) })
  }

  /// The keys that the task cannot do without.
  public final var requiredKeys: Set<String> { plan.requiredKeys }

  /// The tasks that have this one as a prerequisite, each once, in the order in which they were added.
  public final var dependents: [AnyWorkflowTask] {
    handles(of: workflow.storage.withLock { Array($0.state.dependents[index]) })
  }

  private func handles(of places: [Int]) -> [AnyWorkflowTask] {
    Set(places).sorted().map { workflow.handle($0) }
  }
}
