import CompositeOperations
import Foundation
import TestSupport
import Testing

/// The outcome of an operation of any kind, for sequence delegates.
@Suite("anyOutcome, result(as:) and failure", .hangLimit)
struct AnyOutcomeTests {
  @Test("All three are nil until the operation settled", arguments: [true, false])
  func beforeSettling_areNil(isPlain: Bool) {
    let operation: Operation = isPlain ? BlockOperation {} : succeeding(1)
    #expect(operation.anyOutcome == nil)
    #expect(operation.result(as: Int.self) == nil)
    #expect(operation.failure == nil)
    operation.cancel()
    #expect(operation.anyOutcome == nil)
  }

  @Test("A success, as its own type")
  func success_ofComposed() {
    let operation: Operation = succeeding(1)
    operation.start()
    #expect(operation.anyOutcome?.value as? Int == 1)
    #expect(operation.result(as: Int.self) == 1)
    let inferred: Int? = operation.result()
    #expect(inferred == 1)
    #expect(operation.failure == nil)
  }

  @Test("A success, asked for as another type, is nil")
  func success_asAnotherType_isNil() {
    let operation: Operation = succeeding(1)
    operation.start()
    #expect(operation.result(as: String.self) == nil)
    #expect(operation.anyOutcome?.value != nil)
  }

  @Test("A failure")
  func failure_ofComposed() {
    let operation: Operation = failing(TestError.first)
    operation.start()
    #expect(operation.anyOutcome?.error as? TestError == .first)
    #expect(operation.failure as? TestError == .first)
    #expect(operation.result(as: Int.self) == nil)
  }

  @Test("A cancelled one has no failure")
  func cancelled_ofComposed() {
    let operation: Operation = cancelling()
    operation.start()
    #expect(operation.anyOutcome?.isCancelled == true)
    #expect(operation.failure == nil)
    #expect(operation.result(as: Int.self) == nil)
  }

  @Test("A plain operation that finished counts as success with ()")
  func success_ofPlain() {
    let operation: Operation = BlockOperation {}
    operation.start()
    #expect(operation.anyOutcome?.value is Void)
    #expect(operation.result(as: Void.self) != nil)
    #expect(operation.result(as: Int.self) == nil)
    #expect(operation.failure == nil)
  }

  @Test("A plain operation that was cancelled counts as cancelled")
  func cancelled_ofPlain() {
    let operation: Operation = BlockOperation {}
    operation.cancel()
    operation.start()
    #expect(operation.anyOutcome?.isCancelled == true)
    #expect(operation.failure == nil)
  }

  @Test("A user's own conforming operation counts with its outcome")
  func outcome_ofConforming() {
    let succeeded: Operation = ConformingOperation<String> { .success("value") }
    succeeded.start()
    #expect(succeeded.result(as: String.self) == "value")
    let failed: Operation = ConformingOperation<String> { .failure(TestError.first) }
    failed.start()
    #expect(failed.failure as? TestError == .first)
  }

  @Test("A composite counts with its values and its CompositeError")
  func outcome_ofComposite() async {
    let succeeded = CompositeOperation(operations: [succeeding(1), succeeding(2)])
    _ = await outcomeOfStarting(succeeded)
    #expect((succeeded as Operation).result(as: [Int].self) == [1, 2])
    #expect((succeeded as Operation).result(as: [any Sendable].self)?.count == 2)
    let failed = CompositeOperation(operations: [failing(TestError.first)])
    _ = await outcomeOfStarting(failed)
    #expect((failed as Operation).failure is CompositeError)
  }

  @Test("An optional value keeps its own nil apart from no result")
  func optionalValue_isKept() {
    let operation: Operation = succeeding(Int?.none)
    operation.start()
    #expect(operation.anyOutcome != nil)
    #expect(operation.result(as: Int?.self) == .some(.none))
  }

  @Test("Without a success there is no result, also of an optional type")
  func optionalType_withoutSuccess_isNil() {
    let failed: Operation = failing(TestError.first, as: Int?.self)
    #expect(failed.result(as: Int?.self) == .none)
    failed.start()
    #expect(failed.result(as: Int?.self) == .none)
    #expect(failed.result(as: (any Sendable).self) == nil)
  }
}
