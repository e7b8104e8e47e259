public import CompositeOperations
public import Foundation

// How tasks are added whose prerequisites have keys, or vary in number.

extension Workflow {
  /// Adds a task whose attempts are operations; the closure looks the results of prerequisites up.
  ///
  /// ```swift
  /// let page = site.add("page", keyed: ["text": text], unkeyed: images) { results in
  ///   Render(results["text", as: String.self], images: results.unkeyed)
  /// }
  /// ```
  ///
  /// Traps if a required key is missing, if a prerequisite belongs to another workflow, if the
  /// workflow has a task of this name, or if the value of the operation is itself an operation,
  /// which would never run.
  ///
  /// - Parameters:
  ///   - name: a name that no other task of the workflow has; if nil, the task is called `task 3`,
  ///     for example.
  ///   - keyed: the prerequisites that the closure finds by a key.
  ///   - unkeyed: the other prerequisites.
  ///   - requiredKeys: the keys that the closure cannot do without.
  ///   - operationQueue: the queue to run in; nil for that of the workflow.
  ///   - operation: makes a new operation for each attempt; one that other code has started is
  ///     awaited, and one that has finished already fails the attempt with
  ///     ``WorkflowAttemptError``. Called when the attempt starts, where operations run. An error
  ///     that it throws fails the attempt; `CancellationError` cancels the task.
  @discardableResult
  public func add<O: ComposableOperation>(
    _ name: String? = nil, keyed: [String: AnyWorkflowTask] = [:], unkeyed: [AnyWorkflowTask] = [],
    requiredKeys: Set<String> = [], operationQueue: OperationQueue? = nil,
    operation: @escaping @Sendable (PrerequisiteResults) throws -> O
  ) -> WorkflowTask<O.Value> {
    requireValue(O.Value.self, task: name, remedy: "Return an operation that goes on with it: use then(_:).")
    return insert(
      name, keyed: keyed, after: unkeyed, requiring: requiredKeys, in: operationQueue, body: operation)
  }

  /// Adds a task whose attempts are async work; the closure looks the results of prerequisites up.
  ///
  /// The operation of an attempt is an `AsyncOperation`: cancelling the task cancels the `Task`
  /// that the closure runs in, and a `CancellationError` that the closure throws cancels the task.
  ///
  /// - Parameters:
  ///   - name: a name that no other task of the workflow has; if nil, the task is called `task 3`,
  ///     for example.
  ///   - keyed: the prerequisites that the closure finds by a key.
  ///   - unkeyed: the other prerequisites.
  ///   - requiredKeys: the keys that the closure cannot do without.
  ///   - operationQueue: the queue in whose slots the attempts run; the closure itself runs on the
  ///     cooperative pool.
  ///   - priority: the priority of the `Task` that the closure runs in; if nil, it follows from the
  ///     quality of service.
  ///   - qualityOfService: how urgent the work is. If that of the operation of the run is higher,
  ///     that one applies.
  ///   - work: the work of one attempt. An error that it throws fails the attempt.
  @discardableResult
  public func add<Value: Sendable>(
    _ name: String? = nil, keyed: [String: AnyWorkflowTask] = [:], unkeyed: [AnyWorkflowTask] = [],
    requiredKeys: Set<String> = [], operationQueue: OperationQueue? = nil,
    priority: TaskPriority? = nil, qualityOfService: QualityOfService? = nil,
    work: @escaping @Sendable (PrerequisiteResults) async throws -> Value
  ) -> WorkflowTask<Value> {
    requireValue(
      Value.self, task: name, remedy: "Return the operation from a closure that is not async, as operation:.")
    return insert(name, keyed: keyed, after: unkeyed, requiring: requiredKeys, in: operationQueue) { results in
      AsyncOperation<Value>(name: results.taskName, priority: priority, qualityOfService) { try await work(results) }
    }
  }
}
