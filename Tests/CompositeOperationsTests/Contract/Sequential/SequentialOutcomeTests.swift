import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("3.3 Sequential: what comes out", .hangLimit)
struct SequentialOutcomeTests {
  @Test("3.3 nil at once: success with no values")
  func delegate_returningNilAtOnce_succeeds() async {
    let composite = CompositeOperation(sequence: ClosureSequence { _ in nil })
    #expect(await outcomeOfStarting(composite).value?.isEmpty == true)
    #expect(composite.childOutcomes.isEmpty)
  }

  @Test("3.3 nil after an operation that succeeded: the values of those that succeeded, in order")
  func delegate_endingAfterSuccess_succeeds() async {
    let composite = CompositeOperation(
      sequence: ListSequence([succeeding(1), failing(TestError.first), cancelling(), BlockOperation {}, Doubling(2)]))
    let values = await outcomeOfStarting(composite).value
    #expect(values?.count == 3)
    #expect(values?[0] as? Int == 1)
    #expect(values?[1] is Void)
    #expect(values?[2] as? Int == 4)
    #expect(composite.results.count == 3)
    #expect(composite.errors as? [TestError] == [.first])
    #expect(!composite.isCancelled)
    #expect(composite.childOutcomes.map { Ending($0) } == [.success, .failure, .cancelled, .success, .success])
  }

  @Test("3.3 nil after a failed child: failure with every failure so far")
  func delegate_endingAfterFailure_fails() async throws {
    let composite = CompositeOperation(
      sequence: ListSequence([
        failing(TestError.first, named: "a"), succeeding(1), failing(TestError.second, named: "c"),
      ]))
    let error = try #require(await outcomeOfStarting(composite).error as? CompositeError)
    #expect(error.failures.map(\.index) == [0, 2])
    #expect(error.failures.map(\.operationName) == ["a", "c"])
    #expect(error.failures.map { $0.error as? TestError } == [.first, .second])
    #expect(composite.failures == [.first, .second])
    #expect(composite.results as? [Int] == [1])
    #expect(composite.childOutcomes.map { Ending($0) } == [.failure, .success, .failure])
  }

  @Test("3.3 nil after a child that other code cancelled: .cancelled")
  func delegate_endingAfterCancel_isCancelled() async {
    let held = HeldOperation<Int>(settlesWhenCancelled: true)
    let composite = CompositeOperation(sequence: ListSequence([failing(TestError.first), held]))
    await onWorker { composite.start() }
    await held.started.wait()
    held.cancel()
    #expect(await settled(composite).isCancelled)
    #expect(composite.isCancelled)
    #expect(composite.errors as? [TestError] == [.first])
    #expect(composite.childOutcomes.map { Ending($0) } == [.failure, .cancelled])
  }

  @Test("3.3 The delegate throws: failure holding that error last, with the number of children as its index")
  func delegate_throwing_fails() async throws {
    let composite = CompositeOperation(
      sequence: ClosureSequence { previous in
        switch previous?.name {
        case nil: return failing(TestError.first, named: "a")
        case "a": return succeeding(1, named: "b")
        default: throw TestError.second
        }
      })
    let error = try #require(await outcomeOfStarting(composite).error as? CompositeError)
    #expect(error.failures.map(\.index) == [0, 2])
    #expect(error.failures.map { $0.error as? TestError } == [.first, .second])
    #expect(error.failures.last?.operationName == nil)
    #expect(composite.childOutcomes.map { Ending($0) } == [.failure, .success])
  }

  @Test("3.3 The delegate throws at once: failure with index 0")
  func delegate_throwingAtOnce_fails() async throws {
    let composite = CompositeOperation(sequence: ClosureSequence { _ in throw TestError.first })
    let error = try #require(await outcomeOfStarting(composite).error as? CompositeError)
    #expect(error.failures.map(\.index) == [0])
    #expect(composite.failures == [.first])
  }

  @Test("3.3 Composite cancelled: current child cancelled, delegate not asked again, .cancelled")
  func composite_cancelled_stopsAsking() async {
    let asked = Locked(0)
    let held = HeldOperation<Int>()
    let composite = CompositeOperation(
      sequence: ClosureSequence { _ in
        asked.increment()
        return held
      })
    await onWorker { composite.start() }
    await held.started.wait()
    composite.cancel()
    #expect(held.cancelRequested.isOpen)
    #expect(composite.outcome == nil)
    held.finish(with: 1)
    #expect(await settled(composite).isCancelled)
    #expect(asked.current == 1)
    #expect(composite.childOutcomes.map { Ending($0) } == [.cancelled])
  }

  @Test("3.3 Composite cancelled wins over failures so far")
  func composite_cancelledAfterFailure_isCancelled() async {
    let held = HeldOperation<Int>(settlesWhenCancelled: true)
    let composite = CompositeOperation(sequence: ListSequence([failing(TestError.first), held, succeeding(3)]))
    await onWorker { composite.start() }
    await held.started.wait()
    composite.cancel()
    #expect(await settled(composite).isCancelled)
    #expect(composite.childOutcomes.map { Ending($0) } == [.failure, .cancelled])
  }

  @Test("3.3 Composite cancelled before it started: the delegate is never asked")
  func composite_cancelledBeforeStart_asksNothing() async {
    let asked = Locked(0)
    let composite = CompositeOperation(
      sequence: ClosureSequence { _ in
        asked.increment()
        return nil
      })
    composite.cancel()
    #expect(await outcomeOfStarting(composite).isCancelled)
    #expect(asked.current == 0)
    #expect(composite.childOutcomes.isEmpty)
  }

  @Test("3.3 The delegate returns an operation that already finished elsewhere: clear failure")
  func delegate_returningFinished_fails() async throws {
    let used = succeeding(1, named: "download")
    used.start()
    let composite = CompositeOperation(sequence: ListSequence([used]))
    let error = try #require(await outcomeOfStarting(composite).error as? CompositeError)
    #expect("\(error)".contains("download"))
    #expect("\(error)".contains("finished") || "\(error)".contains("started"))
  }

  @Test("3.3 The delegate returns the same operation twice: clear failure, no hang")
  func delegate_returningTheSame_fails() async throws {
    let step = succeeding(1, named: "download")
    let composite = CompositeOperation(sequence: ClosureSequence { _ in step })
    let error = try #require(await outcomeOfStarting(composite).error as? CompositeError)
    #expect("\(error)".contains("download"))
  }

  @Test("3.3 The delegate returns an operation that is executing elsewhere: clear failure, no hang")
  func delegate_returningExecuting_fails() async throws {
    let executing = HeldOperation<Int>("download", settlesWhenCancelled: true)
    executing.start()
    let composite = CompositeOperation(sequence: ListSequence([executing]))
    let error = try #require(await outcomeOfStarting(composite).error as? CompositeError)
    #expect("\(error)".contains("download"))
    executing.finish(with: 1)
  }

  @Test("3.3 A sequence that never ends can be cancelled")
  func delegate_neverEnding_canBeCancelled() async {
    let asked = Locked(0)
    let many = Gate()
    let composite = CompositeOperation(
      sequence: ClosureSequence { _ in
        if asked.increment() == 1000 { many.open() }
        return SimpleOperation<Void> { $0.finish() }
      })
    await onWorker { composite.start() }
    await many.wait()
    composite.cancel()
    #expect(await settled(composite).isCancelled)
    #expect(composite.isCancelled)
  }
}
