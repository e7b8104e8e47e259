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
    /// The lane that it took over.
    private var lentSlot: LentSlot?

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
      // Before the leaf, which may settle at once and make room for one of them.
      pool.cancelWaiting()
      // No other operation of the queue stands for those: the slots that they run in are not this tree's.
      if phase.load(ordering: .acquiring) == Phase.waiting { pool.cancelLent() }
      let (started, lentSlot) = StripedLock.withLock(of: self) { (leaf.cancel(laneWorks: isExecuting), self.lentSlot) }
      if let leaf = started { ThreadContext.current.runUserCode { leaf.cancel() } }
      lentSlot?.cancel()
    }

    func moreIsAvailable(in source: WorkSource) { pool.demand() }

    func willStart(_ operation: Operation) {
      if StripedLock.withLock(of: self, { leaf.begins(operation) }) {
        ThreadContext.current.runUserCode { operation.cancel() }
      }
    }

    func operationDidSettle() { end() }

    func takesOver(_ slot: LentSlot) {
      StripedLock.withLock(of: self) { lentSlot = slot }
    }
  }

  /// The leaf that a lane runs.
  struct LeafInSlot {
    var leaf: Operation?
    private var cancelsNext = false

    /// The next leaf starts. Returns whether it is cancelled before that.
    mutating func begins(_ operation: Operation) -> Bool {
      leaf = operation
      defer { cancelsNext = false }
      return cancelsNext
    }

    /// Returns the leaf to cancel.
    ///
    /// - Parameter laneWorks: whether a lane between two leaves may have the next one in hand already.
    mutating func cancel(laneWorks: Bool) -> Operation? {
      cancelsNext = laneWorks && leaf?.isFinished != false
      return leaf
    }
  }

  /// Cancels the leaves that wait for a slot, as cancelling all operations of the queue should.
  fileprivate func cancelWaiting() {
    for source in state.withLock({ $0.lanes.sources }) { source.cancelWaiting() }
  }

  fileprivate func cancelLent() {
    for slot in state.withLock({ $0.lentSlots }) { slot.cancel() }
  }

  /// The helper has a slot of the queue now. Returns whether it goes on with what runs in a lent slot, which is given back:
  /// so a slot is lent only as long as the queue has no other.
  fileprivate func begin(_ helper: Helper) -> Bool {
    let loan = change { state -> (slot: LentSlot, action: LaneState<WorkSource>.Action)? in
      state.lanes.helperStarted()
      guard let slot = state.lentSlots.popLast() else { return nil }
      slot.isTakenOver(by: helper)
      return (slot, state.lanes.loanEnds())
    }
    if let loan { giveBack(loan.slot, loan.action) }
    return loan != nil
  }
}
