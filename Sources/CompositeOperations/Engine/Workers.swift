import Dispatch
import Foundation

/// The workers of compositions without a queue: blocks on Dispatch's global concurrent queues.
///
/// The number of workers is not fixed. A worker that starts a piece of work while more is waiting
/// makes sure that one further worker, the standby, waits in the dispatch queue. The standby gets a
/// thread when one is free or, as in an `OperationQueue`, when one is blocked. So children that
/// wait for each other finish.
enum Workers {
  /// Lets a worker run the composition: this thread if it is a worker with no other composition to
  /// follow.
  static func offer(_ composition: Composition) {
    if ThreadContext.current.takeOn(composition) { return }
    dispatch(composition)
  }

  private static func dispatch(_ composition: Composition) {
    composition.environment.qualityOfService.globalQueue.async { run(composition) }
  }

  /// Starts an operation on a worker, which then runs its children if it is a composition: once its
  /// dependencies have finished, those too that are added while it waits.
  static func start(_ operation: SettlingOperation) {
    guard waits(operation) else {
      // A closure that captures only one object needs no allocation.
      return operation.qualityOfService.globalQueue.async { startHere(operation) }
    }
    let waiting = LockBox<SettlingOperation?>(operation)
    let startOnce: @Sendable () -> Void = {
      if let operation = waiting.withLock({ $0.take() }) { start(operation) }
    }
    let wait = DependencyWait(for: operation, whenMet: startOnce)
    let end: @Sendable () -> Void = {
      wait.cancel()
      startOnce()
    }
    operation.setWhenDecidedUnstarted(end)
    operation.setWhenNothingIsAwaited(end)
    wait.begin()
    if operation.awaitsNothingMore { end() }
  }

  private static func waits(_ operation: SettlingOperation) -> Bool {
    operation.state.current.phase == .pending && !operation.isCancelled && DependencyWait.isNeeded(for: operation)
  }

  private static func startHere(_ operation: SettlingOperation) {
    // A dependency may have been added since this was dispatched.
    if operation.state.current.has(.hasDependencies), waits(operation) { return start(operation) }
    // Other code may have added it to a queue since it was adopted, which starts it.
    guard !operation.waitsInQueue else { return }
    let context = ThreadContext.current
    context.beWorker(urgency: operation.qualityOfService.urgency) {
      if operation.state.current.has(.needsNoSlot) {
        context.expect(operation.composition) { operation.start(byOwner: true) {} }
      } else {
        context.runUserCode { operation.start(byOwner: true) {} }
      }
      if let composition = context.takeNext() { attend(to: composition, context) }
    }
  }

  private static func run(_ composition: Composition) {
    let context = ThreadContext.current
    context.beWorker(urgency: composition.environment.qualityOfService.urgency) { attend(to: composition, context) }
  }

  private static func attend(to composition: Composition, _ context: ThreadContext) {
    var composition = composition
    // Sources that were left for one that their work started; each may have more to do.
    var outer: [Composition] = []
    context.beginTurn(of: Turn.pieces)
    while context.continuesTurn() {
      let result = composition.runNext(in: WorkerSlot.shared, context)
      if let next = context.takeNext() {
        if result == .done { outer.append(composition) }
        composition = next
      } else if result == .nothing {
        guard let last = outer.popLast() else { return }
        composition = last
      }
    }
    // The turn is over: leave the thread to others. Each composition without a standby gets one.
    for composition in outer + [composition] where composition.beginStandby(isLast: true) {
      dispatchStandby(of: composition)
    }
  }

  private static func dispatchStandby(of composition: Composition) {
    composition.environment.qualityOfService.globalQueue.async {
      composition.endStandby()
      run(composition)
    }
  }

  /// The slot of a worker, of which there are always enough.
  private final class WorkerSlot: WorkSlot {
    static let shared = WorkerSlot()

    func moreIsAvailable(in composition: Composition) {
      if composition.beginStandby() { dispatchStandby(of: composition) }
    }

    func willStart(_ operation: Operation) {}

    func operationDidSettle() {}
  }
}
