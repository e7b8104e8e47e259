import CompositeOperations
import Foundation

/// A task in its manager, whatever its type: what the state machine knows as a payload.
///
/// The fields are guarded by the lock of the manager, unless they say otherwise.
class AnyManagedJob: @unchecked Sendable {  // see the fields
  let id: Int
  /// The timer that is set, and its number.
  final var timer: (number: Int, timer: Timekeeper.Timer)?

  init(id: Int) {
    self.id = id
  }

  /// The type of the task.
  var taskDescription: String { preconditionFailure("abstract") }

  /// The handle, as long as it is alive.
  var anyHandle: SettlingOperation? { preconditionFailure("abstract") }

  /// The operation of the last attempt, if it was made.
  var anyOperation: SettlingOperation? { preconditionFailure("abstract") }

  /// How the last attempt has ended, when it has.
  var lastOutcome: Outcome<any Sendable>? { preconditionFailure("abstract") }

  /// The handle was started, and is kept alive from now on.
  func keep(_ handle: SettlingOperation) { preconditionFailure("abstract") }

  /// Makes the operation of an attempt, and cancels it if it has to be already. Called outside of the lock.
  func makeOperation(in core: ManagerCore) throws -> Operation { preconditionFailure("abstract") }

  /// The attempt has failed without an operation.
  func fail(with error: inout (any Error)?) { preconditionFailure("abstract") }

  /// Settles the handle as the last attempt has ended. Called outside of the lock.
  func settleAsLastAttempt() { preconditionFailure("abstract") }

  /// Settles the handle with an error. Called outside of the lock.
  func settle(with error: any Error) { preconditionFailure("abstract") }

  /// Asks the interceptors. Called outside of the lock.
  func intercept(in core: ManagerCore, drain: Int) async { preconditionFailure("abstract") }

  /// Asks reactors whether they want to react. Called outside of the lock.
  func ask(_ reactors: [Int], in core: ManagerCore) -> [(reactor: Int, key: String?)] {
    preconditionFailure("abstract")
  }
}

final class ManagedJob<Task: ManagedTask>: AnyManagedJob, @unchecked Sendable {  // guarded by the lock of the manager
  /// Changed inside of the lock by whoever has had the interceptors asked. Otherwise the one reads it, without the lock, who
  /// does what the state says comes next, of which there is one at a time.
  private var task: Task
  /// The handle, from its start on.
  private var handle: OperationHandle<Task.Value>?
  /// The same before, when nobody but its user keeps it.
  private weak var unstartedHandle: OperationHandle<Task.Value>?
  private var operation: SimpleOperation<Task.Value>?
  /// Why there is no operation.
  private var failure: (any Error)?

  init(_ task: Task, id: Int) {
    self.task = task
    super.init(id: id)
  }

  override var taskDescription: String { "\(Task.self)" }
  override var anyHandle: SettlingOperation? { handle ?? unstartedHandle }
  override var anyOperation: SettlingOperation? { operation }

  override var lastOutcome: Outcome<any Sendable>? {
    if let failure { return failure is CancellationError ? .cancelled : .failure(failure) }
    return operation?.outcome?.map { $0 }
  }

  func expect(_ handle: OperationHandle<Task.Value>) { unstartedHandle = handle }

  override func keep(_ handle: SettlingOperation) {
    self.handle = unsafeDowncast(handle, to: OperationHandle<Task.Value>.self)
  }

  override func makeOperation(in core: ManagerCore) throws -> Operation {
    let made = try task.makeOperation()
    guard !made.isFinished else {
      throw ManagedTaskError(.operationAlreadyFinished, taskID: id, taskDescription: taskDescription)
    }
    // What is left of the attempt before is released outside of the lock.
    var previous: (operation: SimpleOperation<Task.Value>?, failure: (any Error)?) = (made, nil)
    let isCancelled = core.withLock { storage in
      swap(&previous.operation, &operation)
      swap(&previous.failure, &failure)
      return storage.state.isToBeCancelled(id)
    }
    if isCancelled { made.cancel() }
    if let handle, handle.isProgressAskedFor { handle.forwardProgress(of: made) }
    return made
  }

  override func fail(with error: inout (any Error)?) {
    swap(&failure, &error)
  }

  override func settleAsLastAttempt() {
    guard let handle else { return }
    if let failure {
      handle.reject(with: failure)
    } else if let outcome = operation?.outcome {
      handle.settle(with: outcome)
    } else {
      preconditionFailure("Task \(id) has no last attempt")
    }
  }

  override func settle(with error: any Error) {
    (handle ?? unstartedHandle)?.reject(with: error)
  }

  override func intercept(in core: ManagerCore, drain: Int) async {
    var (task, isAskedAgain) = core.withLock { (self.task, $0.state.jobs[id]?.isAskedAgain == true) }
    var answer = InterceptAnswer()
    for (index, interceptor) in core.interceptors.enumerated() where !(isAskedAgain && interceptor.onlyHolds) {
      let batchCount = core.beginQuestion(to: index, about: id, drain: drain)
      do {
        let command = try await interceptor.interceptor.intercept(&task, batchCount: batchCount)
        answer.add(command, of: index, batchCount: batchCount)
      } catch {
        core.interceptionFailed(of: id, drain: drain, interceptor: index, error)
        return
      }
      guard core.endQuestion(about: id, drain: drain) else { return }
    }
    let outdatingKeys = core.outdatingReactors.compactMap { reactor in
      core.reactors[reactor].key(for: task).map { ReactionKey(reactor: reactor, key: $0) }
    }
    let held = core.input { state -> (place: HeldPlace, task: Task)? in
      guard state.isIntercepting(id, drain: drain) else { return nil }
      swap(&self.task, &task)
      return state.intercepted(id, drain: drain, answer, outdatingKeys: outdatingKeys).map { ($0, self.task) }
    }
    guard let (place, task) = held else { return }
    let holder = core.interceptors[place.interceptor]
    holder.interceptor.didHold(
      task,
      as: HeldTask(
        taskID: id, batch: holder.batch, filling: place.filling, number: place.number))
  }

  override func ask(_ reactors: [Int], in core: ManagerCore) -> [(reactor: Int, key: String?)] {
    guard let handle, let outcome = typedOutcome else { return [] }
    return reactors.compactMap { index in
      let reactor = core.reactors[index]
      guard reactor.shouldReact(to: outcome, of: task, handle: handle) else { return nil }
      return (index, reactor.key(for: task))
    }
  }

  private var typedOutcome: Outcome<Task.Value>? {
    if let failure { return failure is CancellationError ? .cancelled : .failure(failure) }
    return operation?.outcome
  }
}
