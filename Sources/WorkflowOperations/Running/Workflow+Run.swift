public import CompositeOperations
import Foundation

// A run as an operation, and awaited.

extension Workflow {
  /// Makes an operation that runs the workflow: for a queue, a composite, or another workflow.
  ///
  /// When it starts, it begins a run, as ``start()`` does, in its own place: tasks run in the slots of the composite that
  /// it is in, and it occupies none itself. Cancelling it cancels the run. If a run is under way by then, it starts what
  /// is ready, waits for the end of that run and settles like it, and cancelling it changes nothing for the workflow.
  ///
  /// It belongs to that one run: what is done to the workflow later does not change its outcome, which is the workflow, a
  /// ``WorkflowError``, or cancelled. Cancelled is also the outcome of a run that ended with tasks that were reset
  /// meanwhile and not started again.
  public func makeOperation() -> SimpleOperation<Workflow> {
    makeRun(startsEverything: true, joins: true)
  }

  /// Runs the workflow, and waits until the run has ended: ``makeOperation()``, run.
  ///
  /// Returns when every task has finished. Cancelling the calling task cancels the run, if it began here. Not to be
  /// awaited by a task of this workflow, which would wait for itself.
  ///
  /// - Throws: ``WorkflowError`` if something failed; `CancellationError` if the run was cancelled.
  public func run() async throws {
    try await makeOperation().run()
  }
}
