import Dispatch
import Foundation

/// The workers of compositions without a queue: blocks on Dispatch's global concurrent queues.
///
/// The number of workers is not fixed. A worker that starts a piece of work while more is waiting
/// makes sure that one further worker, the standby, waits in the dispatch queue. The standby gets a
/// thread when one is free or, as in an `OperationQueue`, when one is blocked. So children that
/// wait for each other finish.
enum Workers {
  /// Lets a worker run the source: this thread if it is a worker with no other source to follow.
  static func offer(_ source: WorkSource) {
    if ThreadContext.current.takeOn(source) { return }
    dispatch(source)
  }

  private static func dispatch(_ source: WorkSource) {
    source.environment.qualityOfService.globalQueue.async { run(source) }
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
        context.expect(operation.source) { operation.start(byOwner: true) {} }
      } else {
        context.runUserCode { operation.start(byOwner: true) {} }
      }
      if let source = context.takeNext() { attend(to: source, context) }
    }
  }

  private static func run(_ source: WorkSource) {
    let context = ThreadContext.current
    context.beWorker(urgency: source.environment.qualityOfService.urgency) { attend(to: source, context) }
  }

  private static func attend(to source: WorkSource, _ context: ThreadContext) {
    var source = source
    // Sources that were left for one that their work started; each may have more to do.
    var outer: [WorkSource] = []
    context.beginTurn(of: Turn.pieces)
    while context.continuesTurn() {
      let result = source.runNext(in: WorkerSlot.shared, context)
      if let next = context.takeNext() {
        if result == .done { outer.append(source) }
        source = next
      } else if result == .nothing {
        guard let last = outer.popLast() else { return }
        source = last
      }
    }
    // The turn is over: leave the thread to others. Each source without a standby gets one.
    for source in outer + [source] where source.beginStandby(isLast: true) { dispatchStandby(of: source) }
  }

  private static func dispatchStandby(of source: WorkSource) {
    source.environment.qualityOfService.globalQueue.async {
      source.endStandby()
      run(source)
    }
  }

  /// The slot of a worker, of which there are always enough.
  private final class WorkerSlot: WorkSlot {
    static let shared = WorkerSlot()

    func moreIsAvailable(in source: WorkSource) {
      if source.beginStandby() { dispatchStandby(of: source) }
    }

    func willStart(_ operation: Operation) {}

    func operationDidSettle() {}
  }
}
