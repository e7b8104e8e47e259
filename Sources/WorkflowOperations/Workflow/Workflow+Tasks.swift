import CompositeOperations

// The graph: tasks, and what each comes after.

extension Workflow {
  /// All tasks, in the order in which they were added.
  public var tasks: [AnyWorkflowTask] { handles { _, _ in true } }

  /// The tasks without prerequisites.
  public var roots: [AnyWorkflowTask] { handles { $1.nodes[$0].plan.prerequisites.isEmpty } }

  /// The tasks that no other task depends on.
  public var leaves: [AnyWorkflowTask] { handles { $1.dependents.isEmpty(for: $0) } }

  /// The task of this name, if there is one.
  public func task(named name: String) -> AnyWorkflowTask? {
    let index: Int? = storage.withLock { storage in
      if let index = storage.state.named[name] { return index }
      guard let index = TaskNames.place(of: name), index < storage.state.nodes.count else { return nil }
      return storage.state.nodes[index].plan.name == nil ? index : nil
    }
    return index.map(handle)
  }

  private func handles(where isWanted: (Int, WorkflowState) -> Bool) -> [AnyWorkflowTask] {
    let found = storage.withLock { storage in
      storage.state.nodes.indices.filter { isWanted($0, storage.state) }
        .map { ($0, storage.state.nodes[$0].plan.handle) }
    }
    return found.map { index, type in type.init(workflow: self, index: index) }
  }

  func handle(_ index: Int) -> AnyWorkflowTask {
    storage.withLock { $0.state.nodes[index].plan.handle }.init(workflow: self, index: index)
  }
}

extension AnyWorkflowTask {
  /// The tasks whose results this one needs, each once, in the order in which they were added to
  /// the workflow.
  public final var prerequisites: [AnyWorkflowTask] {
    handles(of: plan.prerequisites)
  }

  /// The prerequisites that were given with a key.
  public final var keyedPrerequisites: [String: AnyWorkflowTask] {
    let plan = plan
    return Dictionary(uniqueKeysWithValues: zip(plan.keys, plan.prerequisites).map { ($0, workflow.handle($1)) })
  }

  /// The prerequisites that were given only without a key.
  public final var unkeyedPrerequisites: [AnyWorkflowTask] {
    let plan = plan
    let keyed = Set(plan.prerequisites.prefix(plan.keys.count))
    return handles(of: plan.prerequisites.dropFirst(plan.keys.count).filter { !keyed.contains($0) })
  }

  /// The keys that were required when the task was added.
  public final var requiredKeys: Set<String> { plan.requiredKeys }

  /// The tasks that have this one as a prerequisite, each once, in the order in which they were
  /// added.
  public final var dependents: [AnyWorkflowTask] {
    handles(of: workflow.storage.withLock { Array($0.state.dependents[index]) })
  }

  private func handles(of places: [Int]) -> [AnyWorkflowTask] {
    Set(places).sorted().map { workflow.handle($0) }
  }
}
