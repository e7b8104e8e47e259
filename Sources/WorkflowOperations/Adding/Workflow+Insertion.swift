import CompositeOperations
import Foundation

// What all forms of `add` have in common.

extension Workflow {
  /// Adds a task with work.
  func insert<Value: Sendable>(
    _ name: String?, keyed: [String: AnyWorkflowTask] = [:], after prerequisites: [AnyWorkflowTask],
    requiring requiredKeys: Set<String> = [], in operationQueue: OperationQueue?, body: @escaping TaskPlan.Body
  ) -> WorkflowTask<Value> {
    if !requiredKeys.isEmpty, let missing = requiredKeys.subtracting(keyed.keys).min() {
      let given = keyed.isEmpty ? "none" : keyed.keys.sorted().map { "“\($0)”" }.joined(separator: ", ")
      fatalError(
        "\(describe(name)) requires a prerequisite with the key “\(missing)”, and was given \(given). Give it one with "
          + "keyed: [\"\(missing)\": …].")
    }
    // In an order that does not depend on hashing.
    let keys = keyed.isEmpty ? [] : keyed.keys.sorted()
    let all = keys.isEmpty ? prerequisites : keys.map { keyed[$0]! } + prerequisites
    let plan = TaskPlan(
      name: name, handle: WorkflowTask<Value>.self, work: .body(body), prerequisites: places(of: all, for: name),
      keys: keys, requiredKeys: requiredKeys, operationQueue: operationQueue)
    return WorkflowTask(workflow: self, index: insert(plan))
  }

  func list<each Value>(_ tasks: repeat WorkflowTask<each Value>) -> [AnyWorkflowTask] {
    var list: [AnyWorkflowTask] = []
    for task in repeat each tasks { list.append(task) }
    return list
  }

  /// The places of prerequisites, all of which must be tasks of this workflow.
  func places(of prerequisites: [AnyWorkflowTask], for name: String?) -> [Int] {
    prerequisites.map { prerequisite in
      require(
        prerequisite.workflow === self,
        "\(describe(name)) was given the prerequisite “\(prerequisite.name)”, which belongs to "
          + "another workflow, “\(prerequisite.workflow.name)”. Prerequisites are tasks of the same workflow: add that "
          + "one here, or add its workflow as a subworkflow.")
      return prerequisite.index
    }
  }

  /// - Parameter other: what is added if another task has the name of the plan.
  func insert(_ plan: TaskPlan, else other: TaskPlan? = nil) -> Int {
    var index = -1
    var taken: String?
    let effects = storage.withLock { storage in
      var plan = plan
      taken = storage.state.takenName(for: plan)
      if taken != nil, let other {
        plan = other
        taken = storage.state.takenName(for: plan)
      }
      if taken == nil { index = storage.state.add(plan) }
      return storage.state.conclude()
    }
    if let taken {
      fatalError(
        "The workflow “\(name)” has a task “\(taken)” already. A name stands for one task, in snapshots and drawings: "
          + "give each task a name of its own, or none.")
    }
    perform(effects)
    return index
  }

  /// Traps if a value type is an operation, or an optional or an array of them: they would never
  /// run.
  ///
  /// - Parameter remedy: what to do, after “would never run.”
  func requireValue<Value>(_ type: Value.Type, task name: String?, remedy: StaticString) {
    require(
      !consistsOfOperations(Value.self),
      "\(describe(name)) was added with values that are operations (\(Value.self)), which would never run. \(remedy)")
  }

  /// Traps if a workflow cannot become part of this one.
  func requireFree(_ subworkflow: Workflow, for name: String?) {
    if let owner = subworkflow.storage.withLock({ $0.owner?.workflow }) {
      fatalError(
        "\(describe(name)) was given the workflow “\(subworkflow.name)”, which is a part of “\(owner.name)” already. A "
          + "workflow has one place: make another one.")
    }
    var outer: Workflow? = self
    while let workflow = outer {
      require(
        workflow !== subworkflow,
        "\(describe(name)) was given the workflow “\(subworkflow.name)”, which contains it. A workflow cannot run inside "
          + "of itself: make another one.")
      outer = workflow.storage.withLock { $0.owner?.workflow }
    }
  }

  private func describe(_ name: String?) -> String {
    name.map { "The task “\($0)” of the workflow “\(self.name)”" } ?? "A task of the workflow “\(self.name)”"
  }
}

extension WorkflowState {
  /// The name of the task, if another task has it already.
  func takenName(for plan: TaskPlan) -> String? {
    if let name = plan.name {
      if named[name] != nil { return name }
      guard let place = TaskNames.place(of: name), place < nodes.count else { return nil }
      return nodes[place].plan.name == nil ? name : nil
    }
    guard !named.isEmpty else { return nil }
    let name = TaskNames.automatic(nodes.count)
    return named[name] == nil ? nil : name
  }
}

extension AsyncOperation {
  /// The operation of an attempt.
  convenience init(
    name: String, priority: TaskPriority?, _ qualityOfService: QualityOfService?,
    work: @escaping @Sendable () async throws -> Value
  ) {
    self.init(name: name, priority: priority, work)
    if let qualityOfService { self.qualityOfService = qualityOfService }
  }
}
