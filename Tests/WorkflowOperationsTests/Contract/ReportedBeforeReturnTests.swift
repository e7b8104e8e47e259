import CompositeOperations
import Foundation
import TestSupport
import Testing
import WorkflowOperations

/// When a call that waits for a run returns, sinks, hooks and the delegate have returned, too.
@Suite("4 Waiting for what is reported", .timeLimit(.minutes(30)))
struct ReportedBeforeReturnTests {
  private struct ClosureSink: TelemetrySink {
    let body: @Sendable (TelemetryEvent) -> Void

    func receive(_ event: TelemetryEvent) { body(event) }
  }

  enum Observer: CaseIterable {
    case sink, delegate, hook
  }

  enum Wait: CaseIterable {
    case run, joiningRun, operation, operationInQueue, outerRun

    func callAsFunction(_ workflow: Workflow) async {
      switch self {
      case .run: _ = await workflow.outcomeOfRun()
      case .joiningRun:
        workflow.start()
        _ = await workflow.outcomeOfRun()
      case .operation: _ = try? await workflow.makeOperation().run()
      case .operationInQueue: _ = try? await OperationQueue().run(workflow.makeOperation())
      case .outerRun: _ = await workflow.nested(2).outcomeOfRun()
      }
    }
  }

  @Test(
    "An observer that holds the thread that cancels a task is waited for", arguments: Observer.allCases, Wait.allCases)
  func run_whileAnObserverHoldsAnotherThread_returnsAfterTheObservers(observer: Observer, wait: Wait) async {
    let (isHeld, release) = (Gate(), Gate())
    let order = EventRecorder<String>()
    let workflow = Workflow("inner")
    let hold: @Sendable () -> Void = {
      isHeld.open()
      release.waitBlocking()
    }
    let (work, other) = (workflow.addHeld("work"), workflow.addHeld("other"))
    let delegate = EventDelegate { event in
      if observer == .delegate, event.kind == .cancelled { hold() }
      if event.kind == .workflowCancelled { order.record("told") }
    }
    workflow.delegate = delegate
    if observer == .hook { other.task.didCancel = { _ in hold() } }
    workflow.report(
      to: ClosureSink { event in
        if observer == .sink, event.kind == .cancelled, event.name == "other" { hold() }
        if event.kind == .cancelled, event.parentID == nil { order.record("reported") }
      })
    let waiting = Task {
      await wait(workflow)
      order.record("returned")
    }
    let operations = (await work.attempt(1), await other.attempt(1))
    let cancelling = Task { await onThread { _ = other.task.cancel() } }
    await isHeld.wait()
    operations.0.finish(with: 1)
    operations.1.finish(with: 2)
    // What does not wait for the observers returns here.
    await settleDown()
    #expect(order.events == [])
    release.open()
    await waiting.value
    await cancelling.value
    #expect(order.events == ["told", "reported", "returned"])
    withExtendedLifetime(delegate) {}
  }
}
