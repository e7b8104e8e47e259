import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("Typed: firstSuccess", .hangLimit)
struct FirstSuccessTests {
  @Test("firstSuccess: the first value wins, the rest is cancelled and waited for")
  func firstSuccess_oneSucceeding_cancelsTheRest() async {
    let operations = (0..<3).map { _ in HeldOperation<Int>() }
    let race = firstSuccess(of: operations)
    await onWorker { race.start() }
    for operation in operations { await operation.started.wait() }
    operations[1].finish(with: 1)
    await operations[0].cancelRequested.wait()
    await operations[2].cancelRequested.wait()
    #expect(race.outcome == nil)
    operations[0].finish(with: 0)
    operations[2].finish(with: 2)
    #expect(await settled(race).value == 1)
    #expect(operations[0].outcome?.isCancelled == true)
    #expect(operations[2].outcome?.isCancelled == true)
    #expect(!race.isCancelled)
  }

  @Test("firstSuccess: failures before the first value do not matter")
  func firstSuccess_someFailing_succeeds() async {
    let operations = (0..<3).map { _ in HeldOperation<Int>() }
    let race = firstSuccess(of: operations)
    await onWorker { race.start() }
    for operation in operations { await operation.started.wait() }
    operations[0].reject(with: TestError.first)
    operations[2].reject(with: TestError.second)
    operations[1].finish(with: 1)
    #expect(await settled(race).value == 1)
  }

  @Test("firstSuccess: all fail: a CompositeError that holds every error, in order")
  func firstSuccess_allFailing_holdsEveryError() async throws {
    let operations = (0..<3).map { _ in HeldOperation<Int>() }
    let race = firstSuccess(of: operations)
    await onWorker { race.start() }
    for (number, operation) in operations.enumerated().reversed() {
      await operation.started.wait()
      operation.reject(with: TestError("\(number)"))
    }
    let error = try #require(await settled(race).error as? CompositeError)
    #expect(error.failures.map(\.index) == [0, 1, 2])
    #expect(error.failures.map { ($0.error as? TestError)?.name } == ["0", "1", "2"])
  }

  @Test("firstSuccess: of none, a failure and no hang")
  func firstSuccess_ofNone_fails() async {
    let outcome = await outcomeOfStarting(firstSuccess(of: [SimpleOperation<Int>]()))
    #expect(outcome.error != nil)
  }

  @Test("firstSuccess: cancelling it cancels all")
  func firstSuccess_cancelled_cancelsAll() async {
    let operations = (0..<3).map { _ in HeldOperation<Int>(settlesWhenCancelled: true) }
    let race = firstSuccess(of: operations)
    await onWorker { race.start() }
    for operation in operations { await operation.started.wait() }
    race.cancel()
    #expect(await settled(race).isCancelled)
    #expect(operations.allSatisfy { $0.isCancelled })
  }

  @Test("firstSuccess: one cancelled from outside leaves the race to the others")
  func firstSuccess_oneCancelled_goesOn() async {
    let operations = (0..<2).map { _ in HeldOperation<Int>(settlesWhenCancelled: true) }
    let race = firstSuccess(of: operations)
    await onWorker { race.start() }
    for operation in operations { await operation.started.wait() }
    operations[0].cancel()
    operations[1].finish(with: 1)
    #expect(await settled(race).value == 1)
  }

  @Test("firstSuccess: all cancelled from outside: .cancelled")
  func firstSuccess_allCancelled_isCancelled() async {
    let operations = (0..<2).map { _ in HeldOperation<Int>(settlesWhenCancelled: true) }
    let race = firstSuccess(of: operations)
    await onWorker { race.start() }
    for operation in operations { await operation.started.wait() }
    for operation in operations { operation.cancel() }
    #expect(await settled(race).isCancelled)
    #expect(race.isCancelled)
  }
}
