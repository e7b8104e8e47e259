import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("Typed: zip", .hangLimit)
struct ZipTests {
  @Test("zip: the values, typed, in argument order")
  func zip_allSucceeding_isATuple() async throws {
    let zipped = zip(succeeding(1), AsyncOperation { "two" }, Doubling(3), CompositeOperation(operations: []))
    let value = try #require(await outcomeOfStarting(zipped).value)
    let (one, two, six, empty): (Int, String, Int, [any Sendable]) = value
    #expect(one == 1)
    #expect(two == "two")
    #expect(six == 6)
    #expect(empty.isEmpty)
  }

  @Test("zip: its operations run in parallel")
  func zip_runsInParallel() async throws {
    let first = HeldOperation<Int>()
    let second = HeldOperation<String>()
    let zipped = zip(first, second)
    await onWorker { zipped.start() }
    await first.started.wait()
    await second.started.wait()
    second.finish(with: "b")
    first.finish(with: 1)
    let value = try #require(await settled(zipped).value)
    #expect(value == (1, "b"))
  }

  @Test("zip: one and none")
  func zip_ofOneAndNone_succeeds() async {
    let one = zip(succeeding(1))
    #expect(await outcomeOfStarting(one).value == 1)
    let none: SimpleOperation<Void> = zip()
    #expect(await outcomeOfStarting(none).value != nil)
  }

  @Test("zip: one fails: its own error, the others are cancelled and waited for")
  func zip_oneFailing_failsWithItsError() async {
    let running = HeldOperation<Int>()
    let failing = HeldOperation<String>()
    let zipped = zip(running, failing)
    await onWorker { zipped.start() }
    await running.started.wait()
    await failing.started.wait()
    failing.reject(with: TestError.first)
    await running.cancelRequested.wait()
    #expect(zipped.outcome == nil)
    running.finish(with: 1)
    #expect(await settled(zipped).error as? TestError == .first)
    #expect(!zipped.isCancelled)
  }

  @Test("zip: two fail: it fails with the error that came first, which is that of the first to be announced")
  func zip_twoFailing_failsWithTheFirstError() async {
    let first = HeldOperation<Int>(), second = HeldOperation<String>()
    let zipped = zip(first, second)
    await onWorker { zipped.start() }
    await first.started.wait()
    await second.started.wait()
    await Patience.untilAwaited(first)
    await Patience.untilAwaited(second)
    // Its completion runs before its listeners hear of the end.
    first.completion = { _ in second.reject(with: TestError.second) }
    first.reject(with: TestError.first)
    #expect(await settled(zipped).error as? TestError == .second)
  }

  @Test("zip: one is cancelled from outside: the others are cancelled, it is .cancelled")
  func zip_oneCancelled_isCancelled() async {
    let first = HeldOperation<Int>(settlesWhenCancelled: true)
    let second = HeldOperation<Int>(settlesWhenCancelled: true)
    let zipped = zip(first, second)
    await onWorker { zipped.start() }
    await first.started.wait()
    await second.started.wait()
    first.cancel()
    #expect(await settled(zipped).isCancelled)
    #expect(second.isCancelled)
    #expect(zipped.isCancelled)
  }

  @Test("zip: cancelling it cancels all and waits for them")
  func zip_cancelled_cancelsAll() async {
    let first = HeldOperation<Int>()
    let second = HeldOperation<Int>()
    let zipped = zip(first, second)
    await onWorker { zipped.start() }
    await first.started.wait()
    await second.started.wait()
    zipped.cancel()
    #expect(first.cancelRequested.isOpen && second.cancelRequested.isOpen)
    first.finish(with: 1)
    #expect(zipped.outcome == nil)
    second.finish(with: 2)
    #expect(await settled(zipped).isCancelled)
  }

  @Test("zip: the same operation twice runs once; the second place joins the first")
  func zip_sameTwice_runsOnce() async throws {
    let runs = Locked(0)
    let operation = SimpleOperation<Int> { $0.finish(with: runs.increment()) }
    let value = try #require(await outcomeOfStarting(zip(operation, operation)).value)
    #expect(value == (1, 1))
  }
}
