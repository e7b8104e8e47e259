import CompositeOperations
import Foundation

/// The inside of a manager. Tasks that execute keep it alive when the ``OperationManager`` is
/// released.
///
/// All that changes is behind one lock. The engine is one operation that never ends by itself.
final class ManagerCore: Sendable {
  /// An interceptor, and what was asked of it once.
  struct AttachedInterceptor: Sendable {
    let interceptor: any Interceptor
    let name: String
    let onlyHolds: Bool
    let timeout: Duration?
    let batch: TaskBatch
  }

  /// A reactor, and what was asked of it once.
  struct AttachedReactor: Sendable {
    let reactor: any Reactor
    let name: String
    let configuration: ReactorConfiguration

    init(_ reactor: any Reactor) {
      self.reactor = (reactor as? AnyReactor)?.base ?? reactor
      name = participantName(reactor)
      configuration = reactor.configuration
    }
  }

  /// What runs while a reactor is asked.
  struct Reaction {
    var task: Task<Void, Never>?
    var timer: Timekeeper.Timer?
  }

  struct Storage {
    var state: ManagerState<any AnyManagedJob>
    var idleWaiters: [CheckedContinuation<Void, Never>] = []
    /// Tasks that the thread that delivers events resumes after the events so far.
    var reportWaiters: [UnsafeContinuation<Void, Never>] = []
    var drainTask: (number: Int, task: Task<Void, Never>)?
    var watch = InterceptionWatch()
    var reactions: [Int: Reaction] = [:]
    var streams = EventFeeds<ManagedEvent>()
    /// Whether a line on standard error has said that the manager takes no more tasks.
    var hasWarned = false

    /// Takes out the streams and sinks if there is nothing more to tell.
    mutating func takeEndedStreams() -> [EventFeed<ManagedEvent>] {
      guard state.isOver, !streams.isEmpty else { return [] }
      state.isObserved = false
      return streams.removeAll()
    }
  }

  let name: String
  let reactors: [AttachedReactor]
  let timekeeper: Timekeeper
  // These are set once, before another thread sees the core.
  nonisolated(unsafe) private(set) var interceptors: [AttachedInterceptor] = []
  nonisolated(unsafe) private(set) var engine: DrivenOperation<Void>!
  /// The reactors after whose reactions the interceptors are asked again, if there is anything to
  /// ask.
  nonisolated(unsafe) private(set) var outdatingReactors: [Int] = []
  private let storage: LockBox<Storage>

  init(
    name: String, operationQueue: OperationQueue?, interceptors: [any Interceptor], reactors: [any Reactor],
    timekeeper: Timekeeper
  ) {
    self.name = name
    let reactors = reactors.map(AttachedReactor.init)
    self.reactors = reactors
    self.timekeeper = timekeeper
    let onlyHold = interceptors.map(\.onlyHolds)
    let state = ManagerState<any AnyManagedJob>(
      interceptorCount: interceptors.count, interceptorsOnlyHold: !onlyHold.contains(false),
      reactors: reactors.map(\.configuration))
    storage = LockBox(Storage(state: state))
    self.interceptors = interceptors.enumerated().map { index, interceptor in
      AttachedInterceptor(
        interceptor: (interceptor as? AnyInterceptor)?.base ?? interceptor, name: participantName(interceptor),
        onlyHolds: onlyHold[index], timeout: interceptor.timeout, batch: TaskBatch(of: index, in: self))
    }
    if !state.interceptorsOnlyHold {
      outdatingReactors = reactors.indices.filter { reactors[$0].configuration.reinterceptsOnRequeue }
    }
    engine = makeEngine(operationQueue: operationQueue)
    engine.start()
    for attached in self.interceptors { attached.interceptor.didAttach(to: attached.batch) }
  }

  deinit {
    // Only operations that were given up are under way; they end by themselves.
    engine.settle(with: .cancelled)
    for stream in storage.withLock({ $0.streams.all }) { stream.end() }
  }

  func withLock<R>(_ body: (inout Storage) throws -> R) rethrows -> R {
    try storage.withLock(body)
  }

  // MARK: - Inputs and effects

  /// Feeds an input to the state machine, and carries out the effects.
  @discardableResult
  func input<R>(_ body: (inout ManagerState<any AnyManagedJob>) -> R) -> R {
    change { body(&$0.state) }
  }

  /// Changes what is behind the lock, and carries out the effects.
  @discardableResult
  func change<R>(_ body: (inout Storage) -> R) -> R {
    let (result, effects) = storage.withLock { storage in
      let result = body(&storage)
      return (result, storage.state.conclude())
    }
    // Before the actions, which may call code that takes its time.
    if effects.tickets > 0 { engine.run(tags: Self.tags(effects.tickets)) }
    perform(effects)
    return result
  }

  /// Carries out all effects but the tickets for the engine.
  func perform(_ effects: ManagerEffects<any AnyManagedJob>) {
    // What lets other tasks go on does not wait for the user's code, which may take its time.
    for action in effects.actions where !action.callsUser { perform(action) }
    for action in effects.actions where action.callsUser { perform(action) }
    if effects.delivers { deliver() }
    if effects.isIdle { becomeIdle() }
  }

  private func perform(_ action: ManagerEffects<any AnyManagedJob>.Action) {
    switch action {
    case .setTimer(let job, let number, let delay): setTimer(for: job, number: number, delay)
    case .dropTimer(let job, let number): dropTimer(of: job, number: number)
    case .cancelOperation(let job): storage.withLock { _ in job.anyOperation }?.cancel()
    case .settle(let job, let settlement): settle(job, settlement)
    case .startDrain(let number): startDrain(number)
    case .cancelDrain(let number): cancelDrain(number)
    case .startReaction(let number, let reactor, let key, let job, let attempt):
      startReaction(number, of: reactor, key: key, to: job, attempt: attempt)
    case .cancelReaction(let number): cancelReaction(number)
    }
  }

  private func settle(_ job: any AnyManagedJob, _ settlement: Settlement) {
    switch settlement {
    case .asLastAttempt: job.settleAsLastAttempt()
    case .error(let error): job.settle(with: error)
    case .managed(let code, let participant, let cause):
      // Of a reactor: what it was to react to.
      let original: (any Error)? = if case .reactor = participant { job.lastOutcome?.error } else { nil }
      job.settle(
        with: ManagedTaskError(
          code, taskID: job.id, taskDescription: job.taskDescription, participant: participant.map(name), cause: cause,
          original: original))
    }
  }

  /// As it was written, or its type.
  private func name(of participant: Participant) -> String {
    switch participant {
    case .interceptor(let index): interceptors[index].name
    case .reactor(let index): reactors[index].name
    }
  }

  // MARK: - Timers

  private func setTimer(for job: any AnyManagedJob, number: Int, _ delay: Duration) {
    let id = job.id
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

  private func dropTimer(of job: any AnyManagedJob, number: Int) {
    let timer = storage.withLock { _ in job.timer?.number == number ? job.timer.take()?.timer : nil }
    if let timer { timekeeper.cancel(timer) }
  }

  // MARK: - Waiting

  /// Returns when no started task is left, and the events so far have been received.
  func waitUntilIdle() async {
    await withCheckedContinuation { continuation in
      let isIdle = storage.withLock { storage in
        if !storage.state.isIdle { storage.idleWaiters.append(continuation) }
        return storage.state.isIdle
      }
      if isIdle { continuation.resume() }
    }
    await withUnsafeContinuation { resumeWhenReported($0) }
  }

  /// Wakes those who wait for it, and ends the streams if the manager is gone.
  private func becomeIdle() {
    let (waiters, streams) = storage.withLock { storage in
      guard storage.state.isIdle else { return ([CheckedContinuation<Void, Never>](), [EventFeed<ManagedEvent>]()) }
      defer { storage.idleWaiters = [] }
      return (storage.idleWaiters, storage.takeEndedStreams())
    }
    for waiter in waiters { waiter.resume() }
    for stream in streams { stream.end() }
  }

  // MARK: - The end

  /// Takes no more tasks, and cancels all: attempts under way when the grace has passed.
  func stop(grace: Duration?) async {
    let hasGrace = grace.map { $0 > .zero } == true
    cancelAll { $0.close(hasGrace ? .stoppedWithGrace : .stopped) }
    var timer: Timekeeper.Timer?
    if hasGrace, let grace {
      timer = timekeeper.after(grace) { [weak self] in self?.cancelAll { $0.close(.stopped) } }
    }
    await waitUntilIdle()
    if let timer { timekeeper.cancel(timer) }
  }

  private func cancelAll(_ jobs: (inout ManagerState<any AnyManagedJob>) -> [any AnyManagedJob]) {
    for handle in input({ state in jobs(&state).map(\.anyHandle) }) { handle?.cancel() }
  }

  /// The ``OperationManager`` is gone.
  func release() {
    // What watches the manager is asked for first: it may be gone when the rest has been told.
    let (droppedCount, isObserved) = input { ($0.close(.released).count, $0.isObserved) }
    if !isObserved { warnOfRelease(droppedCount: droppedCount) }
  }
}

extension ManagerCore: SettlementObserver {
  /// A handle has settled, and all observers before this one have been told. Comes twice if it
  /// settled while it waited in a queue: when it has settled, and when it has finished.
  func operationDidSettle(_ operation: Operation, tag id: Int) {
    input { $0.announced(id, outcome: operation.anyOutcome ?? .cancelled) }
  }
}

// MARK: - Events

extension ManagerCore {
  /// Adds a stream or a sink, for what happens from now on. Returns the number to remove it with.
  func addStream(_ feed: EventFeed<ManagedEvent>) -> Int {
    withLock { storage in
      storage.state.isObserved = true
      return storage.streams.add(feed, after: storage.state.lastEvent)
    }
  }

  func removeStream(_ number: Int) {
    let removed = withLock { storage in
      defer { storage.state.isObserved = !storage.streams.isEmpty }
      return storage.streams.remove(number)
    }
    withExtendedLifetime(removed) {}
  }

  /// Puts what has happened into the streams, in order, until there is nothing more, and ends them
  /// if the manager is gone. One thread at a time does.
  func deliver() {
    guard withLock({ $0.state.outbox.beginDelivery() }) else { return }
    var isOver = false
    while !isOver {
      // In one step: a stream that is added from here on begins after all of these, and a task that
      // waits from here on waits for the next ones, too.
      let (entries, streams, waiters) = withLock { storage in
        defer { storage.reportWaiters = [] }
        return (storage.state.outbox.nextDelivery(), storage.streams, storage.reportWaiters)
      }
      for (number, job, attempt, content) in streams.isEmpty ? [] : entries ?? [] {
        let event = ManagedEvent(
          content: content, taskID: job.id, taskDescription: job.taskDescription, attempt: attempt,
          participant: participant(in: content).map(name))
        OperationContext.bind(context(of: job)) {
          for stream in streams.receiving(number) { stream.put(event) }
        }
      }
      for waiter in waiters { waiter.resume() }
      isOver = entries == nil
    }
    // Another thread may have made it idle, and left the rest to this one.
    for stream in withLock({ $0.takeEndedStreams() }) { stream.end() }
  }

  func resumeWhenReported(_ continuation: UnsafeContinuation<Void, Never>) {
    // Another thread may have put events into the outbox, and do something else first.
    deliver()
    let isReported = withLock { storage in
      if storage.state.outbox.isDelivering { storage.reportWaiters.append(continuation) }
      return !storage.state.outbox.isDelivering
    }
    if isReported { continuation.resume() }
  }

  /// The interceptor or reactor that did it.
  private func participant(in content: ManagedEvent.Content) -> Participant? {
    switch content {
    case .held(let index), .released(let index): .interceptor(index)
    case .reacting(let index, _), .joinedReaction(let index, _): .reactor(index)
    case .added, .started, .queued, .attemptStarted, .attemptEnded, .requeued, .finished, .dropped: nil
    }
  }
}
