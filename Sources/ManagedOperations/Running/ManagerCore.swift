import CompositeOperations
import Foundation

/// What a manager is: its shell may go while tasks still execute, which keep this alive.
///
/// All that changes is behind one lock. The engine is one operation that never ends by itself.
final class ManagerCore: Sendable {
  /// An interceptor, and what has to be known of it.
  struct Participant: Sendable {
    let interceptor: any Interceptor
    let onlyHolds: Bool
    let timeout: Duration?
    let batch: TaskBatch
  }

  struct Storage {
    var state: ManagerState<AnyManagedJob>
    var width: Int?
    var idleWaiters: [CheckedContinuation<Void, Never>] = []
    var drainTask: (number: Int, task: Task<Void, Never>)?
    var watch = InterceptionWatch()
    var reactionTasks: [Int: (task: Task<Void, Never>, timer: Timekeeper.Timer?)] = [:]
    var watchers = Watchers()
  }

  let name: String
  let reactors: [any Reactor]
  let reactorConfigurations: [ReactorConfiguration]
  let timekeeper: Timekeeper
  // These are set once, before anybody else sees this.
  nonisolated(unsafe) private(set) var interceptors: [Participant] = []
  nonisolated(unsafe) private(set) var engine: DrivenOperation<Void>!
  /// The reactors after whose reactions the interceptors are asked again, if there is anything to ask.
  nonisolated(unsafe) private(set) var outdatingReactors: [Int] = []
  private let storage: LockBox<Storage>

  init(
    name: String, operationQueue: OperationQueue?, interceptors: [any Interceptor], reactors: [any Reactor],
    timekeeper: Timekeeper
  ) {
    self.name = name
    self.reactors = reactors
    self.timekeeper = timekeeper
    reactorConfigurations = reactors.map(\.configuration)
    storage = LockBox(
      Storage(state: ManagerState(interceptorCount: interceptors.count, reactors: reactorConfigurations)))
    self.interceptors = interceptors.enumerated().map { index, interceptor in
      Participant(
        interceptor: interceptor, onlyHolds: interceptor.onlyHolds, timeout: interceptor.timeout,
        batch: TaskBatch(of: index, in: self))
    }
    if self.interceptors.contains(where: { !$0.onlyHolds }) {
      outdatingReactors = reactors.indices.filter { reactorConfigurations[$0].reinterceptsOnRequeue }
    }
    engine = makeEngine(operationQueue: operationQueue)
    engine.start()
    for participant in self.interceptors { participant.interceptor.didAttach(to: participant.batch) }
  }

  deinit {
    // Nothing is under way but operations that were given up; they end by themselves.
    engine.settle(with: .cancelled)
    for stream in storage.withLock({ $0.watchers.streams.all }) { stream.end() }
  }

  func withLock<R>(_ body: (inout Storage) throws -> R) rethrows -> R {
    try storage.withLock(body)
  }

  // MARK: - Inputs and effects

  /// Feeds an input to the state machine, and does what it asks for.
  @discardableResult
  func input<R>(_ body: (inout ManagerState<AnyManagedJob>) -> R) -> R {
    change { body(&$0.state) }
  }

  /// Changes what is behind the lock, and does what the state machine asks for.
  @discardableResult
  func change<R>(_ body: (inout Storage) -> R) -> R {
    let (result, effects) = storage.withLock { storage in
      let result = body(&storage)
      return (result, storage.state.conclude())
    }
    // Before the others, which may call code that takes its time.
    if effects.tickets > 0 { engine.run(tags: Self.tags(effects.tickets)) }
    perform(effects)
    return result
  }

  /// Does all but telling the engine what can execute.
  func perform(_ effects: ManagerEffects<AnyManagedJob>) {
    for action in effects.actions { perform(action) }
    if effects.delivers { deliver() }
    if effects.isIdle { wakeIdleWaiters() }
  }

  private func perform(_ action: ManagerEffects<AnyManagedJob>.Action) {
    switch action {
    case .setTimer(let job, let number, let delay): setTimer(for: job, number: number, delay)
    case .dropTimer(let job, let number): dropTimer(of: job, number: number)
    case .cancelOperation(let job): storage.withLock { _ in job.anyOperation }?.cancel()
    case .settle(let job, .asLastAttempt): job.settleAsLastAttempt()
    case .settle(let job, .failed(let failure)): job.settle(with: error(for: failure, of: job))
    case .startDrain(let number): startDrain(number)
    case .cancelDrain(let number): cancelDrain(number)
    case .startReaction(let number, let reactor, let key, let job, let attempt):
      startReaction(number, of: reactor, key: key, to: job, attempt: attempt)
    case .cancelReaction(let number): cancelReaction(number)
    }
  }

  private func error(for failure: Failure, of job: AnyManagedJob) -> any Error {
    func make(
      _ code: ManagedTaskError.Code, _ participant: Any? = nil, underlying: (any Error)? = nil, reacting: Bool = false
    ) -> ManagedTaskError {
      ManagedTaskError(
        code, taskIdentifier: job.identifier, taskDescription: job.taskDescription,
        participant: participant.map { "\(type(of: $0))" }, underlying: underlying,
        original: reacting ? job.lastOutcome?.error : nil)
    }
    switch failure {
    case .timedOut: return make(.timedOut)
    case .discarded(let index): return make(.discarded, interceptors[index].interceptor)
    case .interceptionFailed(let index, let error):
      return make(.interceptionFailed, interceptors[index].interceptor, underlying: error)
    case .interceptionTimedOut(let index): return make(.interceptionTimedOut, interceptors[index].interceptor)
    case .reactionFailed(let index, let error):
      return make(.reactionFailed, reactors[index], underlying: error, reacting: true)
    case .reactionTimedOut(let index): return make(.reactionTimedOut, reactors[index], reacting: true)
    case .managerReleased: return make(.managerReleased)
    case .error(let error): return error
    }
  }

  // MARK: - Timers

  private func setTimer(for job: AnyManagedJob, number: Int, _ delay: Duration) {
    let id = job.identifier
    let timer = timekeeper.after(delay) { [weak self] in
      self?.input { $0.timerFired(id, number: number) }
    }
    let isNeeded = storage.withLock { storage in
      guard storage.state.jobs[id]?.timer == number else { return false }
      job.timer = (number, timer)
      return true
    }
    if !isNeeded { timekeeper.cancel(timer) }
  }

  private func dropTimer(of job: AnyManagedJob, number: Int) {
    let timer = storage.withLock { _ in job.timer?.number == number ? job.timer.take()?.timer : nil }
    if let timer { timekeeper.cancel(timer) }
  }

  // MARK: - Waiting

  /// Returns when nothing that was started is left.
  func waitUntilIdle() async {
    await withCheckedContinuation { continuation in
      let isIdle = storage.withLock { storage in
        if !storage.state.isIdle { storage.idleWaiters.append(continuation) }
        return storage.state.isIdle
      }
      if isIdle { continuation.resume() }
    }
  }

  private func wakeIdleWaiters() {
    let waiters = storage.withLock { storage in
      guard storage.state.isIdle else { return [CheckedContinuation<Void, Never>]() }
      defer { storage.idleWaiters = [] }
      return storage.idleWaiters
    }
    for waiter in waiters { waiter.resume() }
  }

  // MARK: - The end

  /// Cancels everything, and takes nothing more.
  func shutDown() {
    for handle in input({ state in state.close(.shutDown).map(\.anyHandle) }) { handle?.cancel() }
  }

  /// The shell is gone.
  func release() {
    let (droppedCount, released) = input { ($0.unexecutedCount, $0.close(.released)) }
    tellOfRelease(droppedCount: droppedCount)
    withExtendedLifetime(released) {}
  }
}

extension ManagerCore: SettlementObserver {
  /// A handle has settled, and everybody has been told.
  func operationDidSettle(_ operation: Operation, tag identifier: Int) {
    input { $0.announced(identifier, outcome: operation.anyOutcome ?? .cancelled) }
  }
}
