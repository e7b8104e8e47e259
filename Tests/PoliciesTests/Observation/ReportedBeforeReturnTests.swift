import CompositeOperations
import Foundation
import TestSupport
import Testing

/// When a call that waits for an operation returns, its observers and sinks have returned, too.
@Suite("8 Waiting for what is reported", .hangLimit)
struct ReportedBeforeReturnTests {
  private struct ClosureSink: TelemetrySink {
    let body: @Sendable (TelemetryEvent) -> Void

    func receive(_ event: TelemetryEvent) { body(event) }
  }

  enum Wait: CaseIterable {
    case run, queueRun, value

    func callAsFunction<O: ComposableOperation>(_ operation: O) async {
      switch self {
      case .run: _ = try? await operation.run()
      case .queueRun: _ = try? await OperationQueue().run(operation)
      case .value:
        operation.start()
        _ = try? await operation.value
      }
    }
  }

  /// Returns what happens in order if an observer of the operation holds another thread, which
  /// reports progress, while the work ends and `wait` waits for the operation.
  private func order<O: SimpleOperation<Int>>(
    _ wait: Wait, of operation: O, work: HeldOperation<Int>
  ) async -> [String] {
    let (isHeld, release) = (Gate(), Gate())
    let order = EventRecorder<String>()
    operation.addObserver { event in
      if event.kind == .progress, event.fractionCompleted != 1 {
        isHeld.open()
        release.waitBlocking()
      }
      if event.kind == .settled { order.record("observed") }
    }
    operation.report(to: ClosureSink { if $0.kind == .succeeded, $0.parentID == nil { order.record("reported") } })
    operation.completion = { _ in order.record("completed") }
    let waiting = Task {
      await wait(operation)
      order.record("returned")
    }
    await work.started.wait()
    let reporting = Task { await onThread { work.reportProgress(0.5) } }
    await isHeld.wait()
    work.finish(with: 1)
    // What does not wait for the observers returns here.
    await settleDown()
    #expect(order.events == ["completed"])
    release.open()
    await waiting.value
    await reporting.value
    return order.events
  }

  @Test(arguments: Wait.allCases)
  func wait_whileAnObserverHoldsAnotherThread_returnsAfterTheObservers(wait: Wait) async {
    let expected = ["completed", "observed", "reported", "returned"]
    let single = HeldOperation<Int>()
    #expect(await order(wait, of: single, work: single) == expected)
    let mapped = HeldOperation<Int>()
    #expect(await order(wait, of: mapped.map { $0 }, work: mapped) == expected)
    let timed = HeldOperation<Int>()
    #expect(await order(wait, of: timed.timeout(.seconds(9), clock: ManualClock()), work: timed) == expected)
  }
}
