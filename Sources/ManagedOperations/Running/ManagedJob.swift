import CompositeOperations
import Foundation

/// A task in its manager, whatever its type: the payload of the state machine.
///
/// A protocol rather than closures: one object for each task, and no second allocation.
protocol AnyManagedJob: AnyObject, Sendable {
  var id: Int { get }

  /// The type of the task.
  var taskDescription: String { get }

  /// The timer that is set, and its number. Guarded by the lock of the manager.
  var timer: (number: Int, timer: Timekeeper.Timer)? { get set }

  /// The handle, while it is alive. Read inside of the lock.
  var anyHandle: SettlingOperation? { get }

  /// The task-local values of the handle at its making, before its start. Read inside of the lock.
  var firstContext: ContextValues? { get }

  /// The operation of the last attempt, if it was made. Read inside of the lock.
  var anyOperation: SettlingOperation? { get }

  /// How the last attempt has ended, when it has.
  var lastOutcome: Outcome<any Sendable>? { get }

  /// The handle was started, and is kept alive from now on. Called inside of the lock.
  func keep(_ handle: SettlingOperation)

  /// Makes the operation of an attempt, and cancels it if it has to be already. Nil if there is
  /// none: then the attempt has failed.
  func makeOperation(in core: ManagerCore) -> Operation?

  /// Settles the handle with the outcome of the last attempt.
  func settleAsLastAttempt()

  /// Settles the handle with an error.
  func settle(with error: any Error)

  /// Asks the interceptors.
  func intercept(in core: ManagerCore, drain: Int) async

  /// Asks reactors whether they want to react.
  func ask(_ reactors: [Int], in core: ManagerCore) -> [(reactor: Int, key: String?)]
}

final class ManagedJob<Task: ManagedTask>: AnyManagedJob, @unchecked Sendable {  // guarded by the lock of the manager
  let id: Int
  var timer: (number: Int, timer: Timekeeper.Timer)?
  /// The drain changes it inside of the lock. Otherwise the thread that does the next step of the
  /// task, of which there is one at a time, reads it without the lock.
  private var task: Task
  /// Whether interceptors were asked about it. Guarded by the lock of the manager.
  private var wasIntercepted = false
  private var holding = Holding.nothing
  /// The operation of the last attempt, or why there is none.
  private var attempt: Result<SimpleOperation<Task.Value>, any Error>?

  /// Whether the task keeps its handle.
  private enum Holding {
    case nothing
    /// Before the start of the handle, which only its user keeps.
    case expected(Expected)
    /// From the start on.
    case kept(OperationHandle<Task.Value>)
  }

  private struct Expected {
    weak var handle: OperationHandle<Task.Value>?
    /// The task-local values of the handle, for what is told when the handle is gone.
    let context: ContextValues?
  }

  init(_ task: Task, id: Int) {
    self.task = task
    self.id = id
  }

  var taskDescription: String { "\(Task.self)" }
  var anyHandle: SettlingOperation? { anyTypedHandle }
  var firstContext: ContextValues? { if case .expected(let expected) = holding { expected.context } else { nil } }
  var anyOperation: SettlingOperation? { try? attempt?.get() }

  var lastOutcome: Outcome<any Sendable>? { typedOutcome?.map { $0 } }

  private var typedOutcome: Outcome<Task.Value>? {
    switch attempt {
    case .success(let operation): operation.outcome
    case .failure(let error): error is CancellationError ? .cancelled : .failure(error)
    case nil: nil
    }
  }

  /// The handle, from its start on.
  private var handle: OperationHandle<Task.Value>? { if case .kept(let handle) = holding { handle } else { nil } }

  private var anyTypedHandle: OperationHandle<Task.Value>? {
    switch holding {
    case .expected(let expected): expected.handle
    case .kept(let handle): handle
    case .nothing: nil
    }
  }

  func expect(_ handle: OperationHandle<Task.Value>) {
    holding = .expected(Expected(handle: handle, context: handle.context))
  }

  func keep(_ handle: SettlingOperation) {
    holding = .kept(unsafeDowncast(handle, to: OperationHandle<Task.Value>.self))
  }

  func makeOperation(in core: ManagerCore) -> Operation? {
    let context = core.context(of: self)
    let attempt: Result<SimpleOperation<Task.Value>, any Error> = OperationContext.bind(context) {
      Result {
        let made = try task.makeOperation()
        made.inheritContextUnlessTaken(context)
        guard made.isFinished else { return made }
        throw ManagedTaskError(.operationAlreadyFinished, taskID: id, taskDescription: taskDescription)
      }
    }
    // The attempt before is released outside of the lock.
    var previous: Result<SimpleOperation<Task.Value>, any Error>? = attempt
    let isCancelled = core.withLock { storage in
      swap(&previous, &self.attempt)
      return storage.state.isToBeCancelled(id)
    }
    guard case .success(let made) = attempt else { return nil }
    if isCancelled { made.cancel() }
    if let handle, handle.isProgressAskedFor { handle.forwardProgress(of: made) }
    return made
  }

  func settleAsLastAttempt() {
    guard let outcome = typedOutcome else { preconditionFailure("Task \(id) has no last attempt") }
    handle?.settle(with: outcome)
  }

  func settle(with error: any Error) {
    anyTypedHandle?.reject(with: error)
  }

  func intercept(in core: ManagerCore, drain: Int) async {
    var (task, isAskedAgain, isAgain) = core.withLock { storage in
      defer { wasIntercepted = true }
      return (self.task, storage.state.jobs[id]?.interception == .askedAgain, wasIntercepted)
    }
    if isAgain, var changed = task as? any ReinterceptedTask {
      changed.willBeInterceptedAgain()
      task = changed as! Task
    }
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
      core.reactors[reactor].reactor.key(for: task).map { ReactionKey(reactor: reactor, key: $0) }
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

  func ask(_ reactors: [Int], in core: ManagerCore) -> [(reactor: Int, key: String?)] {
    guard let handle, let outcome = typedOutcome else { return [] }
    return OperationContext.bind(core.context(of: self)) {
      reactors.compactMap { index in
        let reactor = core.reactors[index].reactor
        guard reactor.shouldReact(to: outcome, of: task, handle: handle) else { return nil }
        return (index, reactor.key(for: task))
      }
    }
  }
}
