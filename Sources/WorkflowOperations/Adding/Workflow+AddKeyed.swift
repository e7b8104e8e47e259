public import CompositeOperations
public import Foundation

// Adding tasks whose prerequisites are known by keys, or are as many as there happen to be.

extension Workflow {
  /// Adds a task whose attempts are operations, made from results that are looked up.
  ///
  /// ```swift
  /// let page = site.add("page", keyed: ["text": text], unkeyed: images) { results in
  ///   Render(results["text", as: String.self], images: results.unkeyed)
  /// }
  /// ```
  ///
  /// Traps if a required key is missing, if a prerequisite belongs to another workflow, if the workflow has a task of
  /// this name, or if the value of the operation is an operation itself, which would never run.
  ///
  /// - Parameters:
  ///   - name: the name, which no other task of the workflow has; `task 3`, say, if it is nil.
  ///   - keyed: the prerequisites that the closure finds by a key.
  ///   - unkeyed: the others.
  ///   - requiredKeys: the keys that the closure cannot do without.
  ///   - operationQueue: the queue to run in; nil for that of the workflow.
  ///   - operation: makes the operation of one attempt: a new one each time, for one that has finished already
  ///     fails the attempt with ``WorkflowAttemptError``. Called when the attempt starts, where operations run. What it
  ///     throws fails the attempt; `CancellationError` cancels the task.
  @discardableResult
  public func add<O: ComposableOperation>(
    _ name: String? = nil, keyed: [String: AnyWorkflowTask] = [:], unkeyed: [AnyWorkflowTask] = [],
    requiredKeys: Set<String> = [], operationQueue: OperationQueue? = nil,
    operation: @escaping @Sendable (PrerequisiteResults) throws -> O
  ) -> WorkflowTask<O.Value> {
    requireValue(O.Value.self, task: name, remedy: "Return an operation that goes on with it: use then(_:).")
    return add(
      name, as: WorkflowTask<O.Value>.self, keyed: keyed, after: unkeyed, requiring: requiredKeys, in: operationQueue
    ) { results in
      try operation(results)
    }
  }

  /// Adds a task whose attempts are async work, with results that are looked up.
  ///
  /// The same as with an operation, which here is an `AsyncOperation`: cancelling the task cancels the `Task` that the
  /// closure runs in, and a `CancellationError` that it throws cancels the task.
  ///
  /// - Parameters:
  ///   - name: the name, which no other task of the workflow has; `task 3`, say, if it is nil.
  ///   - keyed: the prerequisites that the closure finds by a key.
  ///   - unkeyed: the others.
  ///   - requiredKeys: the keys that the closure cannot do without.
  ///   - operationQueue: the queue in whose slots the attempts run; the closure itself runs on the cooperative pool.
  ///   - priority: the priority of the `Task` that the closure runs in; nil for the one that belongs to the quality of service.
  ///   - qualityOfService: how urgent the work is; that of the operation that the workflow runs in counts if it is higher.
  ///   - work: the work of one attempt. What it throws fails the attempt.
  @discardableResult
  public func add<Value: Sendable>(
    _ name: String? = nil, keyed: [String: AnyWorkflowTask] = [:], unkeyed: [AnyWorkflowTask] = [],
    requiredKeys: Set<String> = [], operationQueue: OperationQueue? = nil,
    priority: TaskPriority? = nil, qualityOfService: QualityOfService? = nil,
    work: @escaping @Sendable (PrerequisiteResults) async throws -> Value
  ) -> WorkflowTask<Value> {
    requireValue(
      Value.self, task: name, remedy: "Return the operation from a closure that is not async, as operation:.")
    return add(
      name, as: WorkflowTask<Value>.self, keyed: keyed, after: unkeyed, requiring: requiredKeys, in: operationQueue
    ) { results in
      AsyncOperation<Value>(name: results.taskName(), priority: priority, qualityOfService) { try await work(results) }
    }
  }
}
