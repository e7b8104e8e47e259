import Dispatch
import Foundation
import Synchronization

/// What all compositions of one tree share: the pools of the queues that they were given.
final class ExecutionTree: Sendable {
  private let pools = LockBox<[ObjectIdentifier: QueuePool]>([:])
  /// The queue whose slot the root occupies as long as it executes.
  private let heldQueue: OperationQueue?

  init(root: SettlingOperation) {
    heldQueue = root.executingQueue
  }

  func pool(for queue: OperationQueue, qualityOfService: QualityOfService) -> QueuePool {
    pools.withLock { pools in
      if let pool = pools[ObjectIdentifier(queue)] { return pool }
      let pool = QueuePool(queue: queue, holdsSlot: queue === heldQueue, qualityOfService: qualityOfService)
      pools[ObjectIdentifier(queue)] = pool
      return pool
    }
  }
}

/// The lanes that run the leaves of one tree in one `OperationQueue`.
///
/// Compositions occupy no slot, only leaves do, so compositions that share a queue finish at any limit, and never
/// exceed it. A lane is a slot of the queue: one of our helper operations there, or the slot that the root of the tree
/// holds anyway. It runs one leaf after the other, and keeps its slot until a leaf has settled. Between leaves it looks
/// at the queue again: it gives up its slot when the queue is suspended, when the limit was lowered, and when other
/// operations wait, for which it lines up again behind them.
final class QueuePool: Sendable {
  /// How often a suspended queue is looked at when its own means of telling, a free slot, is missing.
  private static let suspensionPoll = DispatchTimeInterval.milliseconds(10)

  private let queue: OperationQueue
  private let qualityOfService: QualityOfService
  private let lanes: LockBox<LaneState<WorkSource>>
  /// Where the base lane works: it has a slot, but no thread of the queue.
  private let baseQueue: DispatchQueue

  init(queue: OperationQueue, holdsSlot: Bool, qualityOfService: QualityOfService) {
    self.queue = queue
    self.qualityOfService = qualityOfService
    lanes = LockBox(LaneState(holdsSlot: holdsSlot))
    baseQueue =
      queue === OperationQueue.main
      ? .main : queue.underlyingQueue ?? .global(qos: qualityOfService.dispatchQoS)
  }

  /// A source has work.
  func offer(_ source: WorkSource) {
    perform(lanes.withLock { $0.offer(source) })
  }

  /// Does something that needs no slot of the queue: on a worker, or on the main thread where all the work is done there.
  func besideSlots(_ body: @escaping @Sendable () -> Void) {
    if queue === OperationQueue.main {
      DispatchQueue.main.async { withAutoreleasePool(body) }
    } else {
      Workers.later(qualityOfService: qualityOfService, body)
    }
  }

  private func perform(_ action: LaneState<WorkSource>.Action) {
    switch action {
    case .nothing: break
    case .wakeBase: wakeBase()
    case .addHelper: addHelper()
    }
  }

  // MARK: - Lanes

  private enum Stop {
    /// A leaf needs the slot; the lane is called when it has settled.
    case inFlight
    /// There is no work.
    case noWork
    case suspended
    /// Others want the slot, or have to have the thread.
    case yield
  }

  /// Runs leaves in a slot as long as it should.
  private func work(in slot: any WorkSlot) -> Stop {
    let context = ThreadContext.current
    while let (source, generation) = nextSource() {
      switch attend(to: source, in: slot, context) {
      case .nothing:
        lanes.withLock { $0.exhausted(source, generation: generation) }
      case .inFlight:
        return .inFlight
      case .done:
        lanes.withLock { $0.keep(source) }
        if queue.isSuspended { return .suspended }
      }
      if shouldYield { return .yield }
    }
    return .noWork
  }

  /// Takes a few pieces of work of a source: before others are looked for, and before it is another source's turn.
  private func attend(to source: WorkSource, in slot: any WorkSlot, _ context: ThreadContext) -> WorkResult {
    context.beginTurn(of: Turn.leaves)
    while context.continuesTurn(), !queue.isSuspended {
      let result = source.runNext(in: slot, context)
      if result != .done { return result }
    }
    return .done
  }

  private func nextSource() -> (source: WorkSource, generation: Int)? {
    guard let (source, generation, action) = lanes.withLock({ $0.nextSource() }) else { return nil }
    perform(action)
    return (source, generation)
  }

  private var shouldYield: Bool {
    let (ours, active) = lanes.withLock { ($0.operationCount, $0.activeCount) }
    let limit = queue.maxConcurrentOperationCount
    return queue.operationCount > ours || limit >= 0 && active > limit
  }

  private func addHelper() {
    let helper = Helper(pool: self)
    helper.qualityOfService = qualityOfService
    helper.queuePriority = lanes.withLock { $0.firstSource }?.nextPriority ?? .normal
    queue.addOperation(helper)
  }

  // MARK: - The base lane

  private func wakeBase() {
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

  fileprivate func baseIsFree() {
    if lanes.withLock({ $0.baseContinues() }) { wakeBase() }
  }

  /// The base lane keeps its slot while the queue is suspended, so that the queue may have none to tell us with.
  private func pollForBase() {
    baseQueue.asyncAfter(deadline: .now() + QueuePool.suspensionPoll) { [self] in
      withAutoreleasePool {
        if queue.isSuspended, lanes.withLock({ $0.hasWork }) { pollForBase() } else { baseIsFree() }
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

  // MARK: - Helpers

  fileprivate func demand() {
    perform(lanes.withLock { $0.demand() })
  }

  /// Cancels the leaves that wait for a slot, as cancelling all operations of the queue should.
  fileprivate func cancelWaiting() {
    for source in lanes.withLock({ $0.sources }) { source.cancelWaiting() }
  }

  /// A lane that is an operation in the queue.
  private final class Helper: Operation, WorkSlot, @unchecked Sendable {  // atomic, or guarded by the striped lock
    private enum Phase {
      static let waiting = 0, started = 1, finished = 2
    }

    private let pool: QueuePool
    private let phase = Atomic(Phase.waiting)
    private var leaf: Operation?
    private var cancelsLeaf = false

    init(pool: QueuePool) { self.pool = pool }

    override var isAsynchronous: Bool { true }
    override var isExecuting: Bool { phase.load(ordering: .acquiring) == Phase.started }
    override var isFinished: Bool { phase.load(ordering: .acquiring) == Phase.finished }

    override func start() {
      announceStart { phase.store(Phase.started, ordering: .releasing) }
      pool.lanes.withLock { $0.helperStarted() }
      switch pool.work(in: self) {
      case .inFlight: break
      case .noWork, .suspended, .yield: end()
      }
    }

    private func end() {
      StripedLock.withLock(of: self) { leaf.take() }.map { withExtendedLifetime($0) {} }
      pool.perform(pool.lanes.withLock { $0.helperEnds() })
      announceEnd { phase.store(Phase.finished, ordering: .releasing) }
    }

    override func cancel() {
      super.cancel()
      // Before the leaf, which may settle at once and make room for one of them.
      pool.cancelWaiting()
      let leaf: Operation? = StripedLock.withLock(of: self) {
        // A lane between two leaves may have the next one in hand already.
        cancelsLeaf = isExecuting && self.leaf?.isFinished != false
        return self.leaf
      }
      if let leaf { ThreadContext.current.runUserCode { leaf.cancel() } }
    }

    func moreIsAvailable(in source: WorkSource) { pool.demand() }

    func willStart(_ operation: Operation) {
      let isCancelled = StripedLock.withLock(of: self) {
        leaf = operation
        defer { cancelsLeaf = false }
        return cancelsLeaf
      }
      if isCancelled { ThreadContext.current.runUserCode { operation.cancel() } }
    }

    func operationDidSettle() { end() }
  }
}
