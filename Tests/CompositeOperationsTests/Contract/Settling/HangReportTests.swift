#if DEBUG
import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// Debug builds report after a while an operation whose `main` has returned, and that is cancelled
/// and has not settled.
@Suite("3.1.8 An operation that hangs after a cancel is reported", .hangLimit)
struct HangReportTests {
  @Test("3.1.8 A guard that returns from a body is reported, with name, place and remedy")
  func cancel_insideBodyThatReturns_isReported() async throws {
    let message = try #require(
      reports { (operation: SimpleOperation<Int>) in
        operation.name = "guarded"
        operation.start()
      } of: {
        SimpleOperation<Int> { operation in
          operation.cancel()
          guard !operation.isCancelled else { return }
          operation.finish(with: 1)
        }
      }.first)
    for word in [
      "“guarded”", "SimpleOperation<Int>", "HangReportTests.swift:", "5.0 seconds",
      "guard !isCancelled else { return }",
      "settle(with: .cancelled)", "perform()",
    ] {
      #expect(message.contains(word), "“\(word)” is missing in: \(message)")
    }
  }

  @Test("3.1.8 A cancel that comes when main has returned is reported, once")
  func cancel_afterMainReturned_isReported() async {
    let messages = reports { operation in
      operation.start()
      operation.cancel()
      operation.cancel()
    } of: {
      HeldOperation<Int>("held")
    }
    #expect(messages.count == 1 && messages[0].contains("“held” (HeldOperation<Int>)"))
  }

  @Test("3.1.8 A cancel from main that overrides it is reported")
  func cancel_insideMain_isReported() async {
    let messages = reports {
      $0.start()
    } of: {
      CancellingOperation()
    }
    #expect(messages.count == 1)
  }

  @Test("3.1.8 A composite whose main does not reach super.main() is reported, once")
  func cancel_insideMainOfComposite_isReported() async {
    let messages = reports {
      $0.start()
      $0.cancel()
    } of: {
      ReturningComposite(operations: [succeeding(1)])
    }
    #expect(messages.count == 1 && messages[0].contains("ReturningComposite") && messages[0].contains("super.main()"))
  }

  @Test("3.1.8 A composite that reaches super.main() is not watched, and one inside it neither")
  func cancel_ofCompositeUnderWay_isNotWatched() async {
    let watch = WatchProbe()
    let held = AsyncPlainOperation(ignoresCancel: true)
    let composite = CompositeOperation(operations: [CompositeOperation(operations: [held])])
    watch.using { composite.start() }
    await held.started.wait()
    watch.using { composite.cancel() }
    #expect(watch.timerCount == 0)
    held.complete()
    #expect(await settled(composite).isCancelled)
  }

  @Test("3.1.8 An operation that settles in time is not reported")
  func settling_inTime_isNotReported() async {
    let messages = reports { operation in
      operation.start()
      operation.cancel()
      operation.finish(with: 1)
    } of: {
      HeldOperation<Int>()
    }
    #expect(messages == [])
  }

  @Test("3.1.8 An operation that settles in its cancel hook is not reported")
  func settling_inCancelHook_isNotReported() async {
    let messages = reports { operation in
      operation.start()
      operation.cancel()
    } of: {
      HeldOperation<Int>(settlesWhenCancelled: true)
    }
    #expect(messages == [])
  }

  @Test("3.1.8 An operation that is not cancelled is not reported: its work may be running")
  func executing_uncancelled_isNotReported() async {
    #expect(
      reports {
        $0.start()
      } of: {
        HeldOperation<Int>()
      } == [])
  }

  @Test("3.1.8 One whose main still runs is watched from its return on, or not at all")
  func cancel_whileMainRuns_isReportedAfterTheReturn() async {
    for settles in [false, true] {
      let (started, gate) = (Gate(), Gate())
      let watch = WatchProbe()
      let operation = SimpleOperation<Int> { operation in
        started.open()
        gate.waitBlocking()
        if settles { operation.finish(with: 1) }
      }
      async let returned: Void = onWorker { watch.using { operation.start() } }
      await started.wait()
      watch.using { operation.cancel() }
      #expect(watch.timerCount == 0)
      gate.open()
      await returned
      #expect(watch.timerCount == (settles ? 0 : 1))
      #expect(watch.reportsWhenDue().count == (settles ? 0 : 1))
      operation.finish(with: 1)
    }
  }

  @Test("3.1.8 Async operations and compositions are not reported: they settle by themselves")
  func cancel_ofWorkUnderWay_isNotReported() async {
    let (started, gate) = (Gate(), Gate())
    let async = reports { operation in
      operation.start()
      operation.cancel()
    } of: {
      AsyncOperation<Int> {
        started.open()
        await gate.wait()
        return 1
      }
    }
    #expect(async == [])
    gate.open()
    let held = HeldOperation<Int>()
    held.start()
    let composed = reports { operation in
      operation.start()
      operation.cancel()
    } of: {
      held.map { $0 }
    }
    #expect(composed == [])
    held.finish(with: 1)
  }

  @Test("3.1.8 The watch does not keep the operation alive")
  func watch_ofReleasedOperation_doesNotKeepIt() async {
    let watch = WatchProbe()
    let reference = hangingOperation(watchedBy: watch)
    await untilReleased(reference)
    #expect(watch.timerCount == 1)
    #expect(watch.reportsWhenDue() == [])
  }

  #if os(macOS) || os(Linux)
  @Test("3.1.8 By default it waits for some seconds, and reports on standard error")
  func hang_inAProcess_isReportedOnStandardError() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      let watch = HangWatch(later: { _, action in action() }, report: HangWatch.current.report)
      HangWatch.$current.withValue(watch) {
        let operation = HeldOperation<Int>("hangs in a process of its own")
        operation.start()
        operation.cancel()
        operation.finish(with: 1)
      }
    }
    let message = try #require(result?.standardErrorText)
    #expect(message.contains("hangs in a process of its own"))
    #expect(HangWatch.delay >= .seconds(2) && HangWatch.delay <= .seconds(10))
  }
  #endif

  private func hangingOperation(watchedBy watch: WatchProbe) -> WeakReference<HeldOperation<Int>> {
    let operation = HeldOperation<Int>("released while it hangs")
    watch.using {
      operation.start()
      operation.cancel()
    }
    return WeakReference(operation)
  }

  /// The reports on an operation that was used, when its time is over.
  private func reports<O: Operation>(using use: (O) -> Void, of make: () -> O) -> [String] {
    let watch = WatchProbe()
    let operation = make()
    watch.using { use(operation) }
    return watch.reportsWhenDue()
  }
}

/// Collects the timers of a watch, and what it reports.
private final class WatchProbe: Sendable {
  private let timers = Locked<[@Sendable () -> Void]>([])
  private let messages = EventRecorder<String>()

  var timerCount: Int { timers.withLock { $0.count } }

  /// Runs a closure whose operations this watches.
  func using(_ body: () -> Void) {
    let watch = HangWatch { [self] delay, action in
      #expect(delay == HangWatch.delay)
      timers.withLock { $0.append(action) }
    } report: { [self] message in
      messages.record(message)
    }
    HangWatch.$current.withValue(watch, operation: body)
  }

  /// Ends all timers, and returns the reports.
  func reportsWhenDue() -> [String] {
    for timer in timers.withLock({ $0 }) { timer() }
    return messages.events
  }
}

private final class ReturningComposite: CompositeOperation, @unchecked Sendable {
  override func main() {
    cancel()
    guard !isCancelled else { return }
    super.main()
  }
}

private final class CancellingOperation: SimpleOperation<Int>, @unchecked Sendable {
  override func main() {
    cancel()
    if isCancelled { return }
    finish(with: 1)
  }
}
#endif
