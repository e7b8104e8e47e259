import CompositeOperations

// The graph: tasks, and what each comes after.

extension Workflow {
  /// All tasks, in the order in which they were added.
  public var tasks: [AnyWorkflowTask] {
    let types = storage.withLock { $0.state.nodes.map(\.plan.handle) }
    return types.enumerated().map { index, type in type.init(workflow: self, index: index) }
  }

  /// The task of this name, if there is one.
  public func task(named name: String) -> AnyWorkflowTask? {
    let index: Int? = storage.withLock { storage in
      if let index = storage.state.named[name] { return index }
      guard let index = TaskNames.place(of: name), index < storage.state.nodes.count else { return nil }
      return storage.state.nodes[index].plan.name == nil ? index : nil
    }
    return index.map(handle)
  }

  func handle(_ index: Int) -> AnyWorkflowTask {
    storage.withLock { $0.state.nodes[index].plan.handle }.init(workflow: self, index: index)
  }
}

extension AnyWorkflowTask {
  /// The tasks whose results this one needs, each once, in the order in which they were added to
  /// the workflow.
  public final var prerequisites: [AnyWorkflowTask] {
    handles(of: Set(plan.prerequisites))
  }

  /// The prerequisites that the task's closure finds by a key, as they were passed to `add`.
  public final var keyedPrerequisites: [String: AnyWorkflowTask] {
    let plan = plan
    return Dictionary(uniqueKeysWithValues: zip(plan.keys, plan.prerequisites).map { ($0, workflow.handle($1)) })
  }

  /// The prerequisites without a key, each once, in the order in which they were added to the
  /// workflow.
  public final var unkeyedPrerequisites: [AnyWorkflowTask] {
    let plan = plan
    return handles(of: Set(plan.prerequisites).subtracting(plan.prerequisites.prefix(plan.keys.count)))
  }

  /// The keys that were passed to `add` as required: ``keyedPrerequisites`` has them all.
  public final var requiredKeys: Set<String> { plan.requiredKeys }

  /// The tasks that have this one as a prerequisite, each once, in the order in which they were
  /// added.
  public final var dependents: [AnyWorkflowTask] {
    handles(of: workflow.storage.withLock { Set($0.state.dependents[index]) })
  }

  private func handles(of places: Set<Int>) -> [AnyWorkflowTask] {
    places.sorted().map(workflow.handle)
  }
}
