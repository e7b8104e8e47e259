import CompositeOperations

// The graph.

extension Workflow {
  /// All tasks, in the order in which they were added.
  public var tasks: [AnyWorkflowTask] { handles { _, _ in true } }

  /// The tasks without prerequisites.
  public var roots: [AnyWorkflowTask] { handles { $1.nodes[$0].plan.prerequisites.isEmpty } }

  /// The tasks that no other depends on.
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
