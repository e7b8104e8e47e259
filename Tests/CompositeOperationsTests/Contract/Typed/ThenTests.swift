import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("Typed: then", .hangLimit)
struct ThenTests {
  @Test("then: next gets the value, its operation's value comes out")
  func then_bothSucceeding_succeeds() async throws {
    let composed = succeeding(20).then { Doubling($0) }
    #expect(await outcomeOfStarting(composed).value == 40)
    #expect(try await succeeding(1).then { succeeding("\($0)") }.run() == "1")
  }

  @Test("then: a failure of the first is its own error, next is not called")
  func then_firstFailing_failsWithItsError() async {
    let called = Gate()
    let composed = failing(TestError.first).then { value in
      called.open()
      return succeeding(value)
    }
    #expect(await outcomeOfStarting(composed).error as? TestError == .first)
    #expect(!called.isOpen)
  }

  @Test("then: a failure of the second is its own error")
  func then_secondFailing_failsWithItsError() async {
    let composed = succeeding(1).then { _ in failing(TestError.second, as: String.self) }
    #expect(await outcomeOfStarting(composed).error as? TestError == .second)
  }

  @Test("then: an error that next throws is the composition's own")
  func then_nextThrowing_fails() async {
    let composed = succeeding(1).then { _ -> SimpleOperation<Int> in throw TestError.first }
    #expect(await outcomeOfStarting(composed).error as? TestError == .first)
  }

  @Test("then: a cancelled first operation cancels the composition, next is not called")
  func then_firstCancelled_isCancelled() async {
    let called = Gate()
    let held = HeldOperation<Int>(settlesWhenCancelled: true)
    let composed = held.then { value in
      called.open()
      return succeeding(value)
    }
    await onWorker { composed.start() }
    await held.started.wait()
    held.cancel()
    #expect(await settled(composed).isCancelled)
    #expect(composed.isCancelled)
    #expect(!called.isOpen)
  }

  @Test("then: a cancelled second operation cancels the composition")
  func then_secondCancelled_isCancelled() async {
    let held = HeldOperation<Int>(settlesWhenCancelled: true)
    let composed = succeeding(1).then { _ in held }
    await onWorker { composed.start() }
    await held.started.wait()
    held.cancel()
    #expect(await settled(composed).isCancelled)
    #expect(composed.isCancelled)
  }

  @Test("then: cancelling the composition cancels the first while that runs, and waits for it")
  func cancel_whileFirstRuns_cancelsIt() async {
    let called = Gate()
    let held = HeldOperation<Int>()
    let composed = held.then { value in
      called.open()
      return succeeding(value)
    }
    await onWorker { composed.start() }
    await held.started.wait()
    composed.cancel()
    #expect(held.cancelRequested.isOpen)
    #expect(composed.outcome == nil)
    held.finish(with: 1)
    #expect(await settled(composed).isCancelled)
    #expect(!called.isOpen)
  }

  @Test("then: cancelling the composition cancels the second while that runs, and waits for it")
  func cancel_whileSecondRuns_cancelsIt() async {
    let held = HeldOperation<Int>()
    let composed = succeeding(1).then { _ in held }
    await onWorker { composed.start() }
    await held.started.wait()
    composed.cancel()
    #expect(held.cancelRequested.isOpen)
    #expect(composed.outcome == nil)
    held.finish(with: 1)
    #expect(await settled(composed).isCancelled)
  }

  @Test("then: cancelled before it started, nothing runs")
  func cancel_beforeStart_runsNothing() async {
    let held = HeldOperation<Int>()
    let composed = held.then { succeeding($0) }
    composed.cancel()
    #expect(await outcomeOfStarting(composed).isCancelled)
    #expect(!held.started.isOpen)
  }

  @Test("then: chains of many links")
  func then_chained_succeeds() async {
    var composed: SimpleOperation<Int> = succeeding(0)
    for _ in 0..<200 { composed = composed.then { succeeding($0 + 1) } }
    #expect(await outcomeOfStarting(composed).value == 200)
  }

  @Test("then: composites compose the same way")
  func then_ofComposites_succeeds() async {
    let composed = CompositeOperation(operations: [succeeding(1), succeeding(2)]).then { values in
      succeeding((values as? [Int])?.reduce(0, +) ?? 0)
    }
    #expect(await outcomeOfStarting(composed).value == 3)
    let composite = succeeding(3).then { count in
      CompositeOperation(operations: (0..<count).map { succeeding($0) })
    }
    #expect(await outcomeOfStarting(composite).value as? [Int] == [0, 1, 2])
  }

  @Test("then: a composite's failure is the CompositeError it failed with")
  func then_ofFailingComposite_failsWithCompositeError() async {
    let composed = CompositeOperation(operations: [failing(TestError.first)]).then { _ in succeeding(1) }
    let error = await outcomeOfStarting(composed).error as? CompositeError
    #expect(error?.failures.first?.error as? TestError == .first)
  }

  @Test("then: a user's own conforming operation composes the same way")
  func then_ofConformingOperations_succeeds() async {
    let composed = ConformingOperation<Int> { .success(20) }.then { value in
      ConformingOperation<String> { .success("\(value)") }
    }
    #expect(await outcomeOfStarting(composed).value == "20")
    let failing = ConformingOperation<Int> { .failure(TestError.first) }.then { succeeding($0) }
    #expect(await outcomeOfStarting(failing).error as? TestError == .first)
  }
}
