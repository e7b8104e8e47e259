import Dispatch
import Foundation
import Synchronization

/// What all compositions of one tree share: the pools of the queues that they were given.
final class ExecutionTree: Sendable {
  private let pools = LazyLockBox<[ObjectIdentifier: QueuePool]>([:])
  /// The queue whose slot the root occupies as long as it executes.
  private let heldQueue: OperationQueue?

  init(root: SettlingOperation) {
    heldQueue = root.executingQueue
  }

  func pool(for queue: OperationQueue, qualityOfService: QualityOfService) -> QueuePool {
    if let pool = pools.withLock({ $0[ObjectIdentifier(queue)] }) {
      pool.raise(to: qualityOfService)
      return pool
    }
    // Outside the lock, for it asks the queue, which may be of a subclass of the user's.
    let made = QueuePool(queue: queue, holdsSlot: queue === heldQueue, qualityOfService: qualityOfService)
    let pool = pools.withLock { pools in
      let pool = pools[ObjectIdentifier(queue)] ?? made
      pools[ObjectIdentifier(queue)] = pool
      return pool
    }
    // Another thread may have been first.
    if pool !== made { pool.raise(to: qualityOfService) }
    return pool
  }

  /// The tree begins to wait for something that operations elsewhere may hold. Returns the pool to tell when it need no
  /// longer; nil where the root holds no slot.
  func waitBegins(qualityOfService: QualityOfService) -> QueuePool? {
    guard let heldQueue else { return nil }
    let pool = pool(for: heldQueue, qualityOfService: qualityOfService)
    pool.waitBegins()
    return pool
  }
}

/// The lanes that run the leaves of one tree in one `OperationQueue`.
///
/// Compositions occupy no slot, only leaves do, so compositions that share a queue finish at any limit, and never
/// exceed it. A lane is a slot of the queue: one of our helper operations there, or the slot that the root of the tree
/// holds anyway. It runs one leaf after the other, and keeps its slot until a leaf has settled. Between leaves it looks
/// at the queue again: it gives up its slot when the queue is suspended, when the limit was lowered, and when other
/// operations wait, for which it lines up again behind them; so it does at the end of a turn, for those that want the thread.
///
/// A third kind of lane is in a slot that another tree lends, because it waits: see ``SlotLoans``.
final class QueuePool: Sendable {
  /// How often a suspended queue is looked at when its own means of telling, a free slot, is missing.
  static let suspensionPoll = DispatchTimeInterval.milliseconds(10)

  /// What the lanes are, and what the queue's exchange of slots was told of that.
  struct State {
    var qualityOfService: QualityOfService
    var lanes: LaneState<WorkSource>
    var isListed = (offers: false, wants: false)
    /// The lanes in slots of other trees, and those among them that are still to begin.
    var lentSlots: [LentSlot] = []
    var slotsToBegin: [LentSlot] = []
    /// What is to be done when the tree's own slot is no longer lent.
    var whenReturned: [@Sendable () -> Void] = []
  }

  let queue: OperationQueue
  let state: LockBox<State>
  /// Where the queue runs its operations, if that is known.
  private let dispatchQueue: DispatchQueue?
  let exchange: SlotExchange

  init(queue: OperationQueue, holdsSlot: Bool, qualityOfService: QualityOfService) {
    self.queue = queue
    state = LockBox(State(qualityOfService: qualityOfService, lanes: LaneState(holdsSlot: holdsSlot)))
    dispatchQueue = queue === OperationQueue.main ? .main : queue.underlyingQueue
    exchange = .enter(queue)
  }

  deinit {
    SlotExchange.leave(queue)
  }

  /// Its leaves are as urgent as the most urgent composition that was given the queue.
  fileprivate func raise(to qualityOfService: QualityOfService) {
    state.withLock { state in
      if qualityOfService.urgency > state.qualityOfService.urgency { state.qualityOfService = qualityOfService }
    }
  }

  private var qualityOfService: QualityOfService { state.withLock { $0.qualityOfService } }

  /// Where the base lane works, and those in lent slots: they have a slot, but no thread of the queue.
  var baseQueue: DispatchQueue {
    dispatchQueue ?? .global(qos: qualityOfService.dispatchQoS)
  }

  /// A source has work.
  func offer(_ source: WorkSource) {
    perform(change { $0.lanes.offer(source, holds: source.isHolder.load(ordering: .relaxed)) })
  }

  /// Does something that needs no slot of the queue: on a worker, or on the main thread where all the work is done there.
  func besideSlots(_ body: @escaping @Sendable () -> Void) {
    if queue === OperationQueue.main {
      DispatchQueue.main.async { withAutoreleasePool(body) }
    } else {
      Threads.later(qualityOfService: qualityOfService, body)
    }
  }

  /// There is work that no lane has taken.
  func demand() {
    perform(change { $0.lanes.demand() })
  }

  var hasWork: Bool { state.withLock { $0.lanes.hasWork } }

  /// Changes the state; the queue's exchange of slots learns what follows from that.
  ///
  /// - Parameter wasMatched: whether the exchange has taken the pool off a list by itself.
  func change<R>(wasMatched: Bool = false, _ body: (inout State) -> R) -> R {
    let (result, canMatch) = state.withLock { state in
      let result = body(&state)
      let (offers, wants) = (state.lanes.offersSlot, state.lanes.wantsLoan)
      guard wasMatched || state.isListed != (offers, wants) else { return (result, false) }
      state.isListed = (offers, wants)
      return (result, exchange.update(self, offers: offers, wants: wants))
    }
    if canMatch { lendSlots() }
    return result
  }

  func perform(_ action: LaneState<WorkSource>.Action) {
    switch action {
    case .nothing: break
    case .wakeBase: wakeBase()
    case .addHelper: addHelper()
    }
  }

  // MARK: - Lanes

  enum Stop {
    /// A leaf needs the slot; the lane is called when it has settled.
    case inFlight
    /// There is no work.
    case noWork
    case suspended
    /// Others want the slot, or have to have the thread.
    case yield
  }

  /// Runs leaves in a slot as long as it should.
  func work(in slot: any WorkSlot) -> Stop {
    let context = ThreadContext.current
    // As many pieces as there is time for: what others get between them, the slot, is looked after below.
    context.beginTurn(of: .max)
    while let (source, generation) = nextSource() {
      switch attend(to: source, in: slot, context) {
      case .nothing:
        change { $0.lanes.exhausted(source, generation: generation) }
      case .inFlight:
        return .inFlight
      case .done:
        change { $0.lanes.keep(source, holds: source.isHolder.load(ordering: .relaxed)) }
        if queue.isSuspended { return .suspended }
      }
      if context.turn.isOver || shouldYield { return .yield }
    }
    return .noWork
  }

  /// Takes a few pieces of work of a source: before others are looked for, and before it is another source's turn.
  private func attend(to source: WorkSource, in slot: any WorkSlot, _ context: ThreadContext) -> WorkResult {
    for _ in 0..<Turn.leaves {
      guard context.continuesTurn(), !queue.isSuspended else { break }
      let result = source.runNext(in: slot, context)
      if result != .done { return result }
    }
    return .done
  }

  private func nextSource() -> (source: WorkSource, generation: Int)? {
    guard let (source, generation, action) = change({ $0.lanes.nextSource() }) else { return nil }
    perform(action)
    return (source, generation)
  }

  private var shouldYield: Bool {
    let (ours, active) = state.withLock { ($0.lanes.operationCount, $0.lanes.activeCount) }
    let limit = queue.maxConcurrentOperationCount
    return queue.operationCount > ours || limit >= 0 && active > limit
  }

  private func addHelper() {
    let (standby, source, qualityOfService) = state.withLock {
      ($0.lanes.standby, $0.lanes.firstSource, $0.qualityOfService)
    }
    let helper = Helper(pool: self)
    helper.qualityOfService = qualityOfService
    helper.queuePriority = source?.nextPriority ?? .normal
    queue.addOperation(helper)
    beginLoans(helperInQueue: standby?.number)
  }

  // MARK: - The base lane

  func wakeBase() {
    baseQueue.async { [self] in withAutoreleasePool { workInBase() } }
  }

  private func workInBase() {
    guard queue.maxConcurrentOperationCount != 0 else { return pollForBase() }
    switch work(in: BaseSlot(pool: self)) {
    case .inFlight: break
    case .suspended: pollForBase()
    case .noWork, .yield: baseIsFree()
    }
  }

  private func baseIsFree() {
    if change({ $0.lanes.baseContinues() }) { wakeBase() }
  }

  /// The base lane keeps its slot while the queue is suspended, so that the queue may have none to tell us with.
  private func pollForBase() {
    baseQueue.asyncAfter(deadline: .now() + QueuePool.suspensionPoll) { [self] in
      withAutoreleasePool {
        if queue.isSuspended, hasWork { pollForBase() } else { baseIsFree() }
      }
    }
  }

  private final class BaseSlot: WorkSlot {
    private let pool: QueuePool

    init(pool: QueuePool) { self.pool = pool }

    func moreIsAvailable(in source: WorkSource) { pool.demand() }
    func willStart(_ operation: Operation) {}
    func operationDidSettle() { pool.baseIsFree() }
  }
}
