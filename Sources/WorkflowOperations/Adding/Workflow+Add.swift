public import CompositeOperations
public import Foundation

// How tasks are added.

extension Workflow {
  /// Adds a task whose attempts are operations.
  ///
  /// ```swift
  /// let upload = order.add("upload", after: project, photo) { project, photo in
  ///   Upload(photo, to: project)
  /// }
  /// ```
  ///
  /// If the workflow runs, and was started as a whole, the task runs as soon as it can. Traps if a
  /// prerequisite belongs to another workflow, if the workflow has a task of this name, or if the
  /// value of the operation is itself an operation, which would never run.
  ///
  /// - Parameters:
  ///   - name: a name that no other task of the workflow has; if nil, the task is called `task 3`,
  ///     for example.
  ///   - prerequisites: the tasks that have to finish before. The closure receives their results,
  ///     as they were when the attempt started.
  ///   - operationQueue: the queue to run in; nil for that of the workflow.
  ///   - operation: makes a new operation for each attempt; one that other code has started is
  ///     awaited, and one that has finished already fails the attempt with
  ///     ``WorkflowAttemptError``. Called when the attempt starts, where operations run. An error
  ///     that it throws fails the attempt; `CancellationError` cancels the task.
  @discardableResult
  public func add<each Input: Sendable, O: ComposableOperation>(
    _ name: String? = nil, after prerequisites: repeat WorkflowTask<each Input>, operationQueue: OperationQueue? = nil,
    operation: @escaping @Sendable (repeat each Input) throws -> O
  ) -> WorkflowTask<O.Value> {
    requireValue(O.Value.self, task: name, remedy: "Return an operation that goes on with it: use then(_:).")
    return insert(name, after: list(repeat each prerequisites), in: operationQueue) { results in
      var inputs = TypedInputs(results)
      return try operation(repeat inputs.take((each Input).self))
    }
  }

  /// Adds a task whose attempts are async work.
  ///
  /// ```swift
  /// let project = order.add("project", after: user) { user in try await api.project(of: user) }
  /// ```
  ///
  /// The operation of an attempt is an `AsyncOperation`: cancelling the task cancels the `Task`
  /// that the closure runs in, and a `CancellationError` that the closure throws cancels the task.
  ///
  /// - Parameters:
  ///   - name: a name that no other task of the workflow has; if nil, the task is called `task 3`,
  ///     for example.
  ///   - prerequisites: the tasks that have to finish before. The closure receives their results,
  ///     as they were when the attempt started.
  ///   - operationQueue: the queue in whose slots the attempts run; the closure itself runs on the
  ///     cooperative pool.
  ///   - priority: the priority of the `Task` that the closure runs in; if nil, it follows from the
  ///     quality of service.
  ///   - qualityOfService: how urgent the work is. If that of the operation of the run is higher,
  ///     that one applies.
  ///   - work: the work of one attempt. An error that it throws fails the attempt.
  @discardableResult
  public func add<each Input: Sendable, Value: Sendable>(
    _ name: String? = nil, after prerequisites: repeat WorkflowTask<each Input>, operationQueue: OperationQueue? = nil,
    priority: TaskPriority? = nil, qualityOfService: QualityOfService? = nil,
    work: @escaping @Sendable (repeat each Input) async throws -> Value
  ) -> WorkflowTask<Value> {
    requireValue(
      Value.self, task: name, remedy: "Return the operation from a closure that is not async, as operation:.")
    return insert(name, after: list(repeat each prerequisites), in: operationQueue) { results in
      AsyncOperation<Value>(name: results.taskName, priority: priority, qualityOfService) {
        var inputs = TypedInputs(results)
        return try await work(repeat inputs.take((each Input).self))
      }
    }
  }

  /// Adds a condition: a task that finishes when it is fulfilled.
  ///
  /// - Parameters:
  ///   - name: a name that no other task of the workflow has; if nil, the task is called `task 3`,
  ///     for example.
  ///   - type: the type of its result.
  ///   - prerequisites: the tasks that have to finish before the condition does.
  public func addCondition<Value: Sendable>(
    _ name: String? = nil, of type: Value.Type = Value.self, after prerequisites: AnyWorkflowTask...
  ) -> ExternalCondition<Value> {
    requireValue(Value.self, task: name, remedy: "Fulfil it with what the operation results in.")
    return ExternalCondition(
      workflow: self,
      index: insert(
        TaskPlan(
          name: name, handle: ExternalCondition<Value>.self, work: .condition,
          prerequisites: places(of: prerequisites, for: name))))
  }

  /// Adds another workflow as one task, for good. Its result is that workflow.
  ///
  /// The task runs the subworkflow, and settles as the run does. `cancel()`, `retry()` and
  /// `reset()` of the task apply to the subworkflow, too; `retry()` retries its failed and
  /// cancelled tasks. If the subworkflow or tasks of it are retried, the failed or cancelled task
  /// is retried with it. If the subworkflow is reset, the task that has ended is reset with it.
  ///
  /// To make a new workflow from the results of the prerequisites for each attempt, add a task that
  /// returns its ``Workflow/makeOperation()``.
  ///
  /// Traps if `subworkflow` is part of a workflow already, or contains this one, or if the workflow
  /// has a task of this name.
  ///
  /// - Parameters:
  ///   - name: a name that no other task of the workflow has; if nil, the task has the name of the
  ///     subworkflow or, if that has none or another task has it, is called `task 3`, for example.
  ///   - subworkflow: the workflow to run.
  ///   - prerequisites: the tasks that have to finish before.
  @discardableResult
  public func addSubworkflow(
    _ name: String? = nil, _ subworkflow: Workflow, after prerequisites: AnyWorkflowTask...
  ) -> WorkflowTask<Workflow> {
    let nameToTry = name ?? (subworkflow.name == "workflow" ? nil : subworkflow.name)
    requireFree(subworkflow, for: nameToTry)
    let places = places(of: prerequisites, for: nameToTry)
    func plan(named name: String?) -> TaskPlan {
      TaskPlan(
        name: name, handle: WorkflowTask<Workflow>.self, work: .subworkflow(subworkflow), prerequisites: places)
    }
    let index = insert(plan(named: nameToTry), else: name == nil ? plan(named: nil) : nil)
    // Returned, because releasing its last reference under the lock might run code of the user's.
    let otherOwner: Workflow? = subworkflow.storage.withLock { storage in
      let owner = storage.owner?.workflow
      if owner == nil { storage.owner = WorkflowStorage.Owner(workflow: self, index: index) }
      return owner
    }
    require(
      otherOwner == nil,
      "The workflow “\(subworkflow.name)” was added to two workflows at the same time. Make one for each.")
    if subworkflow.follow(suspensionOf: self) { subworkflow.passOnSuspension() }
    return WorkflowTask(workflow: self, index: index)
  }
}
