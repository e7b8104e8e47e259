public import CompositeOperations
import Foundation
import Synchronization

// Runs: they are operations, which begin, end and can be cancelled.

extension Workflow {
  /// Makes an operation that runs the workflow: for a queue, a composite, or another workflow.
  ///
  /// When it starts, it begins a run, as ``start()`` does: tasks run in the slots of the composite
  /// that the operation is in, and it occupies none itself. Cancelling it cancels the run. If a run
  /// is under way by then, it starts the tasks that are ready, waits for the end of that run and
  /// settles as that run does; cancelling it then changes nothing for the workflow.
  ///
  /// It belongs to that one run; later changes to the workflow do not change its outcome, which is
  /// the workflow, a ``WorkflowError``, or cancelled. A run that ends with tasks that were reset
  /// meanwhile and not started again is cancelled, too. If your code settles it, with
  /// `finish(with:)` for example, the run that it began is cancelled.
  public func makeOperation() -> SimpleOperation<Workflow> {
    makeRun(startsEverything: true, joins: true)
  }

  /// Runs the workflow, and waits until the run has ended; see ``makeOperation()``.
  ///
  /// Returns when every task has finished. Hooks, the delegate and sinks have then returned, and
  /// the events of the run stand in their streams. Cancelling the calling task cancels the run, if
  /// this call began it. A task of the workflow must not await this: it would wait for itself.
  ///
  /// - Throws: ``WorkflowError`` if a task failed; `CancellationError` if the run was cancelled.
  public func run() async throws {
    try await makeOperation().run()
  }

  /// Makes an operation that runs the workflow when it is started.
  ///
  /// - Parameters:
  ///   - joins: whether it waits for a run that is under way by then.
  ///   - isAttempt: whether it is the attempt of this workflow's task in another one.
  func makeRun(startsEverything: Bool, joins: Bool, isAttempt: Bool = false) -> DrivenOperation<Workflow> {
    let ticket = RunTicket()
    var driver = DrivenOperation<Workflow>.Driver(
      didStart: { [self] operation in
        begin(operation, ticket, startsEverything: startsEverything, joins: joins, isAttempt: isAttempt)
      },
      makeOperation: { [self] _, task in makeAttempt(of: task, run: ticket.number) },
      operationDidSettle: { [self] driven, operation, slot in
        let ready = attemptDidSettle(operation, slot: slot, run: ticket.number)
        driven.progressDidChange()
        return ready
      },
      wasCancelled: { [self] operation in wasCancelled(operation, ticket) })
    driver.countDone = { [self] in
      storage.withLock { ($0.state.counts[.finished], $0.state.nodes.count) }
    }
    driver.attempt = { [self] slot in storage.withLock { $0.state.attempts[slot]?.number ?? 1 } }
    let operation = DrivenOperation<Workflow>(operationQueue: operationQueue, driver: driver)
    operation.name = name
    return operation
  }

  private func begin(
    _ operation: DrivenOperation<Workflow>, _ ticket: RunTicket, startsEverything: Bool, joins: Bool, isAttempt: Bool
  ) {
    // Once the lock is dropped, a thread that is passing on events may hand in tasks. None starts
    // before the limit and the suspension of the workflow apply.
    operation.isSuspended = true
    let context = operation.context
    let begun: (WorkflowState.RunStart, WorkflowEffects)? = storage.withLock { storage in
      guard ticket.number != RunTicket.cancelled else { return nil }
      let start = storage.state.begin(startsEverything: startsEverything, in: context)
      if isAttempt { storage.state.beginFollowing() }
      switch start {
      case .begins(let number):
        ticket.number = number
        storage.runs[number] = WorkflowStorage.RunOperations(operation: operation)
      case .joins(let number):
        if joins { storage.runs[number]?.joined.append(operation) }
      }
      return (start, storage.state.conclude())
    }
    guard let (start, effects) = begun else { return }
    if case .begins(let number) = start {
      if !operation.observe(self, tag: number) { operationDidSettle(operation, tag: number) }
      // Lets tasks start, unless the workflow is suspended.
      applyLimits(to: operation)
    }
    // Tasks may have finished before.
    operation.progressDidChange()
    perform(effects)
    if case .joins = start, !joins { operation.settle(with: .cancelled) }
  }

  /// Cancels the run of an operation that was cancelled, or stops waiting for the run of another
  /// one.
  private func wasCancelled(_ operation: DrivenOperation<Workflow>, _ ticket: RunTicket) {
    let number = storage.withLock { storage in
      if ticket.number == 0 {
        ticket.number = RunTicket.cancelled
        for run in storage.runs.keys { storage.runs[run]?.joined.removeAll { $0 === operation } }
      }
      return ticket.number
    }
    guard number > 0 else {
      operation.settle(with: .cancelled)
      return
    }
    Unwinding.perform { [self] in
      input { $0.runWasCancelled(number) }
      // The engine forgets operations that it has not made; those under way have been cancelled.
      operation.cancelAll()
    }
  }

  /// Ends the operations of a run.
  func finish(_ end: RunEnd) {
    // The end of a run may be the end of the workflow around it, and so on.
    Unwinding.perform { [self] in finishNow(end) }
  }

  private func finishNow(_ end: RunEnd) {
    guard let run = storage.withLock({ $0.runs.removeValue(forKey: end.run) }) else { return }
    // Forgets tasks that were handed to the operation and are no longer to run.
    run.operation.cancelAll()
    let outcome = end.settlement.outcome(of: self)
    run.operation.settle(with: outcome)
    for joined in run.joined { joined.settle(with: outcome) }
  }
}

extension Workflow: SettlementObserver {
  /// The operation of a run has settled. If the run is still under way, other code settled it.
  package func operationDidSettle(_ operation: Operation, tag number: Int) {
    guard let driven = storage.withLock({ $0.runs[number]?.operation }) else { return }
    Unwinding.perform { [self] in
      input { $0.runWasCancelled(number) }
      driven.cancelAll()
    }
  }
}

/// The run that an operation began. Changed only under the lock of the workflow.
final class RunTicket: Sendable {
  private let stored = Atomic(0)

  /// The number of the run; 0 if it has not begun, or if the operation waits for a run that another
  /// one began.
  var number: Int {
    get { stored.load(ordering: .acquiring) }
    set { stored.store(newValue, ordering: .releasing) }
  }

  /// The number for an operation that was cancelled before it began a run.
  static let cancelled = -1
}
