import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("CompositeError", .hangLimit)
struct CompositeErrorTests {
  @Test("It prints each child's name, index and cause")
  func description_namesChildIndexAndCause() async throws {
    let error = try #require(
      await failure(of: [succeeding(0), failing(TestError.first, named: "download"), failing(TestError.second)]))
    for text in ["\(error)", error.localizedDescription] {
      #expect(text.contains("download"))
      #expect(text.contains("1"))
      #expect(text.contains("2"))
      #expect(text.contains("test error first"))
      #expect(text.contains("test error second"))
    }
  }

  @Test("It is CustomStringConvertible and LocalizedError, and both agree")
  func conformances_areThere() async throws {
    let error = try #require(await failure(of: [failing(TestError.first, named: "download")]))
    let any: Any = error
    let localized = try #require(any as? any LocalizedError)
    #expect(localized.errorDescription == error.localizedDescription)
    let convertible = try #require(any as? any CustomStringConvertible)
    #expect(convertible.description.contains("download"))
    #expect((error as any Error).localizedDescription.contains("test error first"))
  }

  @Test("A cause that is a LocalizedError is printed with its own sentence")
  func description_ofLocalizedCause_usesItsSentence() async throws {
    struct Refused: LocalizedError {
      var errorDescription: String? { "the server refused" }
    }
    let error = try #require(await failure(of: [failing(Refused())]))
    #expect(error.localizedDescription.contains("the server refused"))
  }

  @Test("Nested ones are indented below the child they come from")
  func description_ofNested_isIndented() async throws {
    let inner = CompositeOperation(operations: [failing(TestError.first, named: "leaf")])
    inner.name = "inner"
    let middle = CompositeOperation(operations: [inner])
    middle.name = "middle"
    let error = try #require(await failure(of: [middle]))
    let lines = "\(error)".split(separator: "\n").map(String.init)
    let indentation = { (name: String) -> Int? in
      lines.first { $0.contains(name) }?.prefix { $0 == " " }.count
    }
    let middleIndentation = try #require(indentation("middle"))
    let innerIndentation = try #require(indentation("inner"))
    let leafIndentation = try #require(indentation("leaf"))
    #expect(middleIndentation < innerIndentation)
    #expect(innerIndentation < leafIndentation)
    #expect("\(error)".contains("test error first"))
    #expect(!"\(error)".hasSuffix("\n"))
  }

  @Test("A cause of several lines stays indented below its child")
  func description_ofCauseOfSeveralLines_isIndented() async throws {
    struct Refused: LocalizedError {
      var errorDescription: String? { "the server refused:\n  quota\nand gave no reason" }
    }
    let inner = CompositeOperation(operations: [failing(Refused(), named: "leaf")])
    inner.name = "inner"
    let error = try #require(await failure(of: [inner, failing(Refused())]))
    #expect(
      "\(error)" == """
        2 operations failed
          [0] “inner”: 1 operation failed
            [0] “leaf”: the server refused:
                quota
              and gave no reason
          [1]: the server refused:
              quota
            and gave no reason
        Repair what failed, or give a child whose failure is not to count recover(_:) or settled().
        """)
  }

  @Test("A nested one after it and a sibling each have their own line")
  func description_ofNestedBesideOthers_hasOwnLines() async throws {
    let inner = CompositeOperation(operations: [failing(TestError.first, named: "leaf")])
    inner.name = "inner"
    let composite = CompositeOperation(operations: [
      failing(TestError.second, named: "before"), inner, failing(TestError.second, named: "after"),
    ])
    composite.failurePolicy = .waitForAll
    let error = try #require(await outcomeOfStarting(composite).error as? CompositeError)
    let lines = "\(error)".split(separator: "\n").map(String.init)
    let position = { (name: String) in lines.firstIndex { $0.contains(name) } ?? -1 }
    #expect(position("before") < position("inner"))
    #expect(position("inner") < position("leaf"))
    #expect(position("leaf") < position("after"))
  }

  @Test("failures is never empty, in child order, and equals errors")
  func failures_equalErrors() async throws {
    let composite = CompositeOperation(operations: [
      failing(TestError.first, named: "a"), succeeding(1), failing(TestError.second),
    ])
    composite.failurePolicy = .waitForAll
    let error = try #require(await outcomeOfStarting(composite).error as? CompositeError)
    #expect(error.failures.map(\.index) == [0, 2])
    #expect(error.failures.map(\.operationName) == ["a", nil])
    #expect(composite.errors.count == error.failures.count)
  }

  @Test("outcomes has every child: its value, its failure, or that it was cancelled")
  func outcomes_ofFailedComposite_haveEveryChild() async throws {
    let composite = CompositeOperation(operations: [
      succeeding(1), failing(TestError.first), cancelling(), BlockOperation {},
    ])
    composite.failurePolicy = .waitForAll
    let error = try #require(await outcomeOfStarting(composite).error as? CompositeError)
    #expect(error.outcomes.map { Ending($0) } == [.success, .failure, .cancelled, .success])
    #expect(error.outcomes[0].value as? Int == 1)
    #expect(error.outcomes[1].error as? TestError == .first)
    #expect(error.outcomes[3].value is Void)
  }

  @Test("outcomes of a sequence has every child so far; the delegate's error belongs to no child")
  func outcomes_ofFailedSequence_haveEveryChildSoFar() async throws {
    let composite = CompositeOperation(
      sequence: ThrowingSequence([succeeding(1), failing(TestError.first), succeeding(3)]))
    let error = try #require(await outcomeOfStarting(composite).error as? CompositeError)
    #expect(error.outcomes.map { Ending($0) } == [.success, .failure, .success])
    #expect(error.failures.map(\.index) == [1, 3])
    #expect(error.failures.map { $0.error as? TestError } == [.first, .second])
    #expect(composite.errors as? [TestError] == [.first, .second])
    #expect(composite.results as? [Int] == [1, 3])
  }

  @Test("outcomes of a composite whose children cannot be used has the reason in their places")
  func outcomes_ofMisusedChildren_haveTheReason() async throws {
    let twice = succeeding(1)
    let composite = CompositeOperation(operations: [twice, succeeding(2), twice])
    let error = try #require(await outcomeOfStarting(composite).error as? CompositeError)
    #expect(error.outcomes.count == 3)
    #expect((error.outcomes[2].error as? OperationError)?.code == .duplicateChild)
    #expect(error.outcomes[1].isCancelled)
  }

  @Test("outcomes of firstSuccess has every operation that failed")
  func outcomes_ofFirstSuccess_haveEveryFailure() async throws {
    let first = firstSuccess(of: [failing(TestError.first), failing(TestError.second)])
    let error = try #require(await outcomeOfStarting(first).error as? CompositeError)
    #expect(error.outcomes.map { $0.error as? TestError } == [.first, .second])
  }

  private func failure(of operations: [Operation]) async -> CompositeError? {
    let composite = CompositeOperation(operations: operations)
    composite.failurePolicy = .waitForAll
    return await outcomeOfStarting(composite).error as? CompositeError
  }
}

/// Returns a list of operations, and throws at its end.
private struct ThrowingSequence: CompositeOperation.Sequence {
  private var remaining: ArraySlice<Operation>

  init(_ operations: [Operation]) {
    remaining = operations[...]
  }

  mutating func nextOperation(after previous: Operation?) throws -> Operation? {
    guard let next = remaining.popFirst() else { throw TestError.second }
    return next
  }
}
