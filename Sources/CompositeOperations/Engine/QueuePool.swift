import Dispatch
import Foundation
import Synchronization

/// The state that all compositions of one tree share: the pools of their queues.
final class ExecutionTree: Sendable {
  private let pools = LazyLockBox<[ObjectIdentifier: QueuePool]>([:])
  /// The queue whose slot the root occupies while it executes.
  let heldQueue: OperationQueue?

  init(root: SettlingOperation) {
    heldQueue = root.executingQueue
  }

  func pool(for queue: OperationQueue, qualityOfService: QualityOfService) -> QueuePool {
    if let pool = pools.withLock({ $0[ObjectIdentifier(queue)] }) {
      pool.raise(to: qualityOfService)
      return pool
    }
    // Outside the lock: it reads properties of the queue, which may be a subclass.
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

  /// Begins a wait for something that operations elsewhere may hold. Returns the pool whose
  /// `waitEnds` ends it; nil if the root holds no slot.
  func waitBegins(qualityOfService: QualityOfService) -> QueuePool? {
    guard let heldQueue else { return nil }
    let pool = pool(for: heldQueue, qualityOfService: qualityOfService)
    pool.waitBegins()
    return pool
  }
}

/// The lanes that run the leaves of one tree in one `OperationQueue`.
///
/// Only leaves occupy slots, so compositions that share a queue finish at any limit and never
/// exceed it. A lane is a slot of the queue: that of a helper operation, or the slot that the root
/// of the tree holds anyway. It runs one leaf after the other, and keeps its slot until a leaf has
/// settled. Between leaves it checks the queue: it gives up its slot when the queue is suspended,
/// when the limit was lowered, when other operations wait (it then queues behind them), and at the
/// end of a turn.
///
/// A third kind of lane uses a slot that another, waiting tree lends: see ``SlotLoans``.
final class QueuePool: WorkSlot {
  /// How often to check a suspended queue that has no free slot to start a helper in.
  static let suspensionPoll = DispatchTimeInterval.milliseconds(10)

  /// The lanes, and what the queue's slot exchange knows of them.
  struct State {
    var qualityOfService: QualityOfService
    var lanes: LaneState<Composition>
    var isListed = (offers: false, wants: false)
    /// The lanes in slots of other trees, and those of them that have not begun.
    var lentSlots: [LentSlot] = []
    var slotsToBegin: [LentSlot] = []
    /// The actions to run when the tree's own slot is returned.
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

  /// Raises the urgency of the leaves to that of the most urgent composition with this queue.
  fileprivate func raise(to qualityOfService: QualityOfService) {
    state.withLock { state in
      if qualityOfService.urgency > state.qualityOfService.urgency { state.qualityOfService = qualityOfService }
    }
  }

  private var qualityOfService: QualityOfService { state.withLock { $0.qualityOfService } }

  /// Where the base lane and those in lent slots work: they have a slot, but no thread of the
  /// queue.
  var baseQueue: DispatchQueue {
    dispatchQueue ?? qualityOfService.globalQueue
  }

  /// A composition has work.
  func offer(_ composition: Composition) {
    perform(change { $0.lanes.offer(composition, holds: composition.isHolder.load(ordering: .relaxed)) })
  }

  /// Runs a closure that needs no slot: on a worker, or on the main thread for the main queue.
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

  /// Changes the state, and updates the queue's slot exchange.
  ///
  /// - Parameter wasMatched: whether the exchange has removed the pool from a list.
  func change<R>(wasMatched: Bool = false, _ body: (inout State) -> R) -> R {
    let (result, canMatch, dropped) = state.withLock { state in
      let result = body(&state)
      let dropped = state.lanes.takeDropped()
      let (offers, wants) = (state.lanes.offersSlot, state.lanes.wantsLoan)
      guard wasMatched || state.isListed != (offers, wants) else { return (result, false, dropped) }
      state.isListed = (offers, wants)
      return (result, exchange.update(self, offers: offers, wants: wants), dropped)
    }
    // Not under the lock.
    withExtendedLifetime(dropped) {}
    if canMatch { lendSlots() }
    return result
  }

  func perform(_ action: LaneState<Composition>.Action) {
    switch action {
    case .nothing: break
    case .wakeBase: wakeBase()
    case .addHelper: addHelper()
    }
  }

  // MARK: - Lanes

  enum Stop {
    /// A leaf keeps the slot; the lane continues when it has settled.
    case inFlight
    /// There is no work.
    case noWork
    case suspended
    /// Other operations need the slot or the thread.
    case yield
  }

  /// Runs leaves in a slot until it is to stop.
  func work(in slot: any WorkSlot) -> Stop {
    let context = ThreadContext.current
    // Only time limits the turn: `shouldYield` gives other operations the slot.
    context.beginTurn(of: .max)
    while let (composition, generation, action) = change({ $0.lanes.nextSource() }) {
      perform(action)
      switch attend(to: composition, in: slot, context) {
      case .nothing:
        change { $0.lanes.exhausted(composition, generation: generation) }
      case .inFlight:
        return .inFlight
      case .done:
        let isSuspended = queue.isSuspended
        // A suspended queue asks for no work, so it would not see that there is none.
        if isSuspended, composition.isExhausted {
          change { $0.lanes.exhausted(composition, generation: generation) }
        } else {
          change { $0.lanes.keep(composition, holds: composition.isHolder.load(ordering: .relaxed)) }
        }
        if isSuspended { return .suspended }
      }
      if context.turn.isOver || shouldYield { return .yield }
    }
    return .noWork
  }

  /// Runs a few pieces of work of a composition before it is another composition's turn.
  private func attend(to composition: Composition, in slot: any WorkSlot, _ context: ThreadContext) -> WorkResult {
    for _ in 0..<Turn.leaves {
      guard context.continuesTurn(), !queue.isSuspended else { break }
      let result = composition.runNext(in: slot, context)
      if result != .done { return result }
    }
    return .done
  }

  /// Forgets the compositions that have nothing left. A suspended queue asks for no work, so it
  /// would not see that there is none.
  func dropExhausted() {
    guard queue.isSuspended else { return }
    for (composition, generation) in state.withLock({ $0.lanes.offers }) where composition.isExhausted {
      change { $0.lanes.exhausted(composition, generation: generation) }
    }
  }

  private var shouldYield: Bool {
    let (ours, active) = state.withLock { ($0.lanes.operationCount, $0.lanes.activeCount) }
    let limit = queue.maxConcurrentOperationCount
    return queue.operationCount > ours || limit >= 0 && active > limit
  }

  private func addHelper() {
    let (standby, composition, qualityOfService) = state.withLock {
      ($0.lanes.standby, $0.lanes.firstSource, $0.qualityOfService)
    }
    let helper = Helper(pool: self)
    helper.qualityOfService = qualityOfService
    helper.queuePriority = composition?.nextPriority ?? .normal
    queue.addOperation(helper)
    beginLoans(helperInQueue: standby?.number)
  }

  // MARK: - The base lane

  func wakeBase() {
    baseQueue.async { [self] in withAutoreleasePool { workInBase() } }
  }

  private func workInBase() {
    guard queue.maxConcurrentOperationCount != 0 else { return pollForBase() }
    switch work(in: self) {
    case .inFlight: break
    case .suspended: pollForBase()
    case .noWork, .yield: baseIsFree()
    }
  }

  private func baseIsFree() {
    if change({ $0.lanes.baseContinues() }) { wakeBase() }
  }

  /// Polls: the base lane keeps its slot while the queue is suspended, so no helper may be able to
  /// start.
  private func pollForBase() {
    baseQueue.asyncAfter(deadline: .now() + QueuePool.suspensionPoll) { [self] in
      withAutoreleasePool {
        if queue.isSuspended, hasWork { workInBase() } else { baseIsFree() }
      }
    }
  }

  // The pool is the slot of its base lane.

  func moreIsAvailable(in composition: Composition) { demand() }

  func willStart(_ operation: Operation) {}

  func operationDidSettle() { baseIsFree() }
}
