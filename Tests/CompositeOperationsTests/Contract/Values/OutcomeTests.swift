import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("Outcome")
struct OutcomeTests {
  private let success = Outcome<Int>.success(1)
  private let failure = Outcome<Int>.failure(TestError.first)
  private let cancelled = Outcome<Int>.cancelled

  @Test("get returns the value, throws the error, throws CancellationError for .cancelled")
  func get_ofEachKind() throws {
    #expect(try success.get() == 1)
    #expect(throws: TestError.first) { try failure.get() }
    #expect(throws: CancellationError.self) { try cancelled.get() }
  }

  @Test("value is there for a success only")
  func value_ofEachKind() {
    #expect(success.value == 1)
    #expect(failure.value == nil)
    #expect(cancelled.value == nil)
  }

  @Test("error is there for a failure only")
  func error_ofEachKind() {
    #expect(success.error == nil)
    #expect(failure.error as? TestError == .first)
    #expect(cancelled.error == nil)
  }

  @Test("isCancelled is true for .cancelled only")
  func isCancelled_ofEachKind() {
    #expect(!success.isCancelled)
    #expect(!failure.isCancelled)
    #expect(cancelled.isCancelled)
  }

  @Test("map transforms a success and keeps the others")
  func map_ofEachKind() {
    #expect(success.map { "\($0)" }.value == "1")
    #expect(failure.map { "\($0)" }.error as? TestError == .first)
    #expect(cancelled.map { "\($0)" }.isCancelled)
  }

  @Test("map rethrows what its transform throws, and calls it for a success only")
  func map_throwing_rethrows() throws {
    #expect(throws: TestError.second) { try success.map { _ -> Int in throw TestError.second } }
    #expect(try failure.map { _ -> Int in throw TestError.second }.error as? TestError == .first)
    #expect(try cancelled.map { _ -> Int in throw TestError.second }.isCancelled)
  }

  @Test("Made from a result it is the same, and a CancellationError is .cancelled")
  func init_ofResult() throws {
    #expect(Outcome(Result<Int, any Error>.success(1)).value == 1)
    #expect(Outcome(Result<Int, any Error>.failure(TestError.first)).error as? TestError == .first)
    #expect(Outcome(Result<Int, any Error>.failure(CancellationError())).isCancelled)
    #expect(Outcome<Int>(.success(1)).value == 1)
    let results: [Result<Int, any Error>] = [.success(1), .failure(CancellationError())]
    #expect(results.map(Outcome.init).map(\.value) == [1, nil])
  }

  @Test("Made from a result with an error of a certain type it is the same")
  func init_ofTypedResult() {
    #expect(Outcome(Result<Int, TestError>.success(1)).value == 1)
    #expect(Outcome(Result<Int, TestError>.failure(.first)).error as? TestError == .first)
    #expect(Outcome(Result<Int, CancellationError>.failure(CancellationError())).isCancelled)
  }

  @Test("Made from a closure it is what that returns or throws, and a CancellationError is .cancelled")
  func init_catching() {
    #expect(Outcome(catching: { 42 }).value == 42)
    #expect(Outcome<Int>(catching: { throw TestError.first }).error as? TestError == .first)
    #expect(Outcome<Int>(catching: { throw CancellationError() }).isCancelled)
    #expect(Outcome(catching: { try success.get() }).value == 1)
  }

  @Test("result is the value, the error, or a CancellationError, and leads back to the same outcome")
  func result_ofEachKind() throws {
    #expect(try success.result.get() == 1)
    #expect(throws: TestError.first) { try failure.result.get() }
    #expect(throws: CancellationError.self) { try cancelled.result.get() }
    #expect(Outcome(success.result).value == 1)
    #expect(Outcome(failure.result).error as? TestError == .first)
    #expect(Outcome(cancelled.result).isCancelled)
  }

  @Test("A Void outcome has a value too")
  func void_hasAValue() {
    #expect(Outcome<Void>.success(()).value != nil)
    #expect(Outcome<Void>.cancelled.value == nil)
  }

  @Test("result and error of an operation follow its outcome")
  func resultAndError_followTheOutcome() {
    let operation = ConformingOperation<Int> { .failure(TestError.first) }
    #expect(operation.result == nil && operation.error == nil)
    operation.start()
    #expect(operation.result == nil)
    #expect(operation.error as? TestError == .first)
    let other = ConformingOperation<Int> { .success(2) }
    other.start()
    #expect(other.result == 2)
    #expect(other.error == nil)
  }
}
