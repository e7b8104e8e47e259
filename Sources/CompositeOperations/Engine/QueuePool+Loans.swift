import Dispatch
import Foundation

// Slots that trees lend each other while they wait: see ``SlotLoans``.

extension QueuePool {
  /// Begins a wait for something that operations elsewhere may hold: meanwhile they may borrow the
  /// slot.
  func waitBegins() {
    change { $0.lanes.waitBegins() }
  }

  /// Ends such a wait.
  ///
  /// - Parameter body: called when the tree has its slot: at once, or when the leaf of a borrower
  ///   has settled.
  func waitEnds(_ body: @escaping @Sendable () -> Void) {
    let isLent = change { state in
      state.lanes.waitEnds()
      if state.lanes.base == .lent { state.whenReturned.append(body) }
      return state.lanes.base == .lent
    }
    if !isLent { body() }
  }

  /// Carries out the loans that the exchange matches.
  func lendSlots() {
    for (lender, borrower) in exchange.match(limit: queue.maxConcurrentOperationCount) {
      if lender.change(wasMatched: true, { $0.lanes.lend() }) {
        borrower.borrow(from: lender)
      } else {
        exchange.ended()
        borrower.change(wasMatched: true) { _ in }
      }
    }
  }

  private func borrow(from lender: QueuePool) {
    let slot = LentSlot(of: lender, for: self)
    perform(
      change(wasMatched: true) { state in
        state.lentSlots.append(slot)
        state.slotsToBegin.append(slot)
        return state.lanes.loanBegins()
      })
    beginLoans()
  }

  /// Starts the lanes in lent slots once an operation of the queue represents them.
  ///
  /// - Parameter helper: the number of the helper that was just added to the queue.
  func beginLoans(helperInQueue helper: Int? = nil) {
    let slots = state.withLock { state -> [LentSlot] in
      if let helper { state.lanes.helperIsInQueue(helper) }
      guard state.lanes.mayBeginLoans else { return [] }
      defer { state.slotsToBegin = [] }
      return state.slotsToBegin
    }
    for slot in slots { baseQueue.async { withAutoreleasePool { slot.work() } } }
  }

  /// Ends a lane in a slot that another tree lends.
  fileprivate func loanEnds(_ slot: LentSlot) {
    let action: LaneState<Composition>.Action? = change { state in
      guard let index = state.lentSlots.firstIndex(where: { $0 === slot }) else { return nil }
      state.lentSlots.remove(at: index)
      return state.lanes.loanEnds()
    }
    if let action { giveBack(slot, action) } else { slot.successor?.operationDidSettle() }
  }

  func giveBack(_ slot: LentSlot, _ action: LaneState<Composition>.Action) {
    exchange.ended()
    perform(action)
    slot.lender.slotReturned()
    // The end of this loan may allow others.
    lendSlots()
  }

  private func slotReturned() {
    let (hasWork, actions) = change { state in
      defer { state.whenReturned = [] }
      return (state.lanes.slotReturned(), state.whenReturned)
    }
    if hasWork { wakeBase() }
    for action in actions { action() }
  }

  /// A lane in the slot of another tree that waits; later, perhaps, in that of a helper.
  final class LentSlot: WorkSlot {
    private struct State {
      var leaf = LeafInSlot()
      /// The helper in whose slot the lane continues.
      var successor: Helper?
    }

    fileprivate let lender: QueuePool
    private let pool: QueuePool
    private let state = LockBox(State())

    init(of lender: QueuePool, for pool: QueuePool) {
      self.lender = lender
      self.pool = pool
    }

    func work() {
      guard pool.queue.maxConcurrentOperationCount != 0 else { return poll() }
      switch pool.work(in: self) {
      case .inFlight: break
      case .suspended: poll()
      case .noWork, .yield: operationDidSettle()
      }
    }

    /// Polls a suspended queue, like the base lane.
    private func poll() {
      pool.baseQueue.asyncAfter(deadline: .now() + QueuePool.suspensionPoll) { [self] in
        withAutoreleasePool {
          // If the lender needs its slot, the work continues later in the tree's own slots.
          let isWanted = successor != nil || lender.state.withLock { !$0.whenReturned.isEmpty }
          if isWanted || !pool.hasWork {
            operationDidSettle()
          } else {
            work()
          }
        }
      }
    }

    func moreIsAvailable(in composition: Composition) { pool.demand() }

    func willStart(_ operation: Operation) {
      let (isCancelled, previous) = state.withLock { $0.leaf.begins(operation) }
      withExtendedLifetime(previous) {}
      if isCancelled { ThreadContext.current.runUserCode { operation.cancel() } }
    }

    func operationDidSettle() {
      state.withLock { $0.leaf.leaf.take() }.map { withExtendedLifetime($0) {} }
      pool.dropExhausted()
      pool.loanEnds(self)
    }

    fileprivate var successor: Helper? { state.withLock { $0.successor } }

    func isTakenOver(by helper: Helper) {
      state.withLock { $0.successor = helper }
      helper.takesOver(self)
    }

    /// Cancels the leaf in the slot.
    func cancel() {
      LeafInSlot.cancel(laneWorks: true) { change in state.withLock { change(&$0.leaf) } }
    }
  }
}
