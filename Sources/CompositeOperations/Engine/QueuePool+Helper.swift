import Foundation
import Synchronization

extension QueuePool {
  /// A lane that is an operation in the queue.
  final class Helper: Operation, WorkSlot, @unchecked Sendable {  // atomic, or guarded by the striped lock
    private enum Phase {
      static let waiting = 0, started = 1, finished = 2
    }

    private let pool: QueuePool
    private let phase = Atomic(Phase.waiting)
    private var leaf = LeafInSlot()
    /// The lane in a lent slot that this helper took over.
    private var lentSlot: LentSlot?
    /// Whether it was cancelled after it started and before it took over.
    private var cancelsLane = false

    init(pool: QueuePool) { self.pool = pool }

    override var isAsynchronous: Bool { true }
    override var isExecuting: Bool { phase.load(ordering: .acquiring) == Phase.started }
    override var isFinished: Bool { phase.load(ordering: .acquiring) == Phase.finished }

    override func start() {
      announceStart { phase.store(Phase.started, ordering: .releasing) }
      guard !pool.begin(self) else { return }
      switch pool.work(in: self) {
      case .inFlight: break
      case .noWork, .suspended, .yield: end()
      }
    }

    private func end() {
      // Released outside the lock.
      var (leaf, lentSlot) = (LeafInSlot(), nil as LentSlot?)
      StripedLock.withLock(of: self) {
        swap(&leaf, &self.leaf)
        swap(&lentSlot, &self.lentSlot)
      }
      withExtendedLifetime((leaf, lentSlot)) {}
      pool.perform(pool.change { $0.lanes.helperEnds() })
      announceEnd { phase.store(Phase.finished, ordering: .releasing) }
    }

    override func cancel() {
      super.cancel()
      // Before the leaf, which may settle at once and free its place for one of these.
      for composition in pool.state.withLock({ $0.lanes.compositions }) { composition.cancelWaiting() }
      // No other operation of the queue represents the lanes in lent slots. This started helper may
      // have been the standby when `cancelAllOperations()` began.
      for slot in pool.state.withLock({ $0.lentSlots }) { slot.cancel() }
      LeafInSlot.cancel(laneWorks: isExecuting) { change in StripedLock.withLock(of: self) { change(&leaf) } }
      let lane: LentSlot? = StripedLock.withLock(of: self) {
        if lentSlot == nil { cancelsLane = isExecuting }
        return lentSlot
      }
      lane?.cancel()
    }

    func moreIsAvailable(in composition: Composition) { pool.demand() }

    func willStart(_ operation: Operation) {
      let (isCancelled, previous) = StripedLock.withLock(of: self) { leaf.begins(operation) }
      withExtendedLifetime(previous) {}
      if isCancelled { ThreadContext.current.runUserCode { operation.cancel() } }
    }

    func operationDidSettle() {
      pool.dropExhausted()
      end()
    }

    func takesOver(_ slot: LentSlot) {
      StripedLock.withLock(of: self) { lentSlot = slot }
    }

    /// Whether a cancel came before it took over, and so did not reach the lane.
    fileprivate var missedCancel: Bool { StripedLock.withLock(of: self) { cancelsLane } }
  }

  /// The leaf that a lane runs.
  struct LeafInSlot {
    var leaf: Operation?
    private var cancelsNext = false

    /// Records the leaf that starts. Returns whether to cancel it first, and the previous leaf, to
    /// be released.
    mutating func begins(_ operation: Operation) -> (isCancelled: Bool, previous: Operation?) {
      defer { (leaf, cancelsNext) = (operation, false) }
      return (cancelsNext, leaf)
    }

    /// Cancels the leaf of a lane.
    ///
    /// - Parameters:
    ///   - laneWorks: whether a lane between two leaves may already have claimed the next one,
    ///     which is then cancelled.
    ///   - locked: runs its argument inside a lock.
    static func cancel(laneWorks: Bool, _ locked: ((inout LeafInSlot) -> (Operation?)) -> Operation?) {
      var leaf = locked { $0.leaf }
      while true {
        // Outside the lock: `isFinished` may be the user's override.
        let isBetween = laneWorks && leaf?.isFinished != false
        let last = leaf
        leaf = locked { slot in
          if slot.leaf === last { slot.cancelsNext = isBetween }
          return slot.leaf
        }
        if leaf === last { break }
      }
      if let leaf { ThreadContext.current.runUserCode { leaf.cancel() } }
    }
  }

  /// Begins a helper, which has a slot of the queue now. Returns whether it took over what runs in
  /// a lent slot, which it gives back: a slot is lent only while the queue has no free one.
  fileprivate func begin(_ helper: Helper) -> Bool {
    let loan = change { state -> (slot: LentSlot, action: LaneState<Composition>.Action)? in
      guard !state.lentSlots.isEmpty else {
        state.lanes.helperStarted()
        return nil
      }
      let slot = state.lentSlots.removeFirst()
      slot.isTakenOver(by: helper)
      return (slot, state.lanes.helperTakesOver())
    }
    guard let loan else { return false }
    giveBack(loan.slot, loan.action)
    beginLoans()
    if helper.missedCancel { loan.slot.cancel() }
    return true
  }
}
