import Dispatch
import Foundation

/// The workers of compositions that were given no queue: blocks on Dispatch's global concurrent queues.
///
/// There is no fixed number of workers. Whenever a worker starts a piece of work while more is waiting, it sees to it
/// that one further worker, the standby, waits in the dispatch queue. The standby gets a thread when one is free or,
/// as for an `OperationQueue`, when one is blocked. So children that wait for each other finish.
enum Workers {
  /// Has a worker attend to the source: this thread if it is one with nothing else to turn to.
  static func offer(_ source: WorkSource) {
    if ThreadContext.current.takeOn(source) { return }
    dispatch(source)
  }

  private static func dispatch(_ source: WorkSource) {
    DispatchQueue.global(qos: source.environment.qualityOfService.dispatchQoS).async { run(source) }
  }

  /// Starts an operation on a worker, which then goes on with its children if it is a composition.
  static func start(_ operation: SettlingOperation) {
    // What captures one object only is not allocated.
    DispatchQueue.global(qos: operation.qualityOfService.dispatchQoS).async { startHere(operation) }
  }

  private static func startHere(_ operation: SettlingOperation) {
    let context = ThreadContext.current
    context.beWorker(urgency: operation.qualityOfService.urgency) {
      if operation.state.current.has(.needsNoSlot) {
        operation.start()
      } else {
        context.runUserCode { operation.start() }
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
    // Sources left for one that a piece of their work brought up; each may have more to do.
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
    // Others may have the thread now. Those sources that have no standby already get one.
    for source in outer + [source] where source.beginStandby(isLast: true) { dispatchStandby(of: source) }
  }

  private static func dispatchStandby(of source: WorkSource) {
    DispatchQueue.global(qos: source.environment.qualityOfService.dispatchQoS).async {
      source.endStandby()
      run(source)
    }
  }

  /// What a worker is to the sources it attends to: a slot that is never short.
  private final class WorkerSlot: WorkSlot {
    static let shared = WorkerSlot()

    func moreIsAvailable(in source: WorkSource) {
      if source.beginStandby() { dispatchStandby(of: source) }
    }

    func willStart(_ operation: Operation) {}

    func operationDidSettle() {}
  }
}
