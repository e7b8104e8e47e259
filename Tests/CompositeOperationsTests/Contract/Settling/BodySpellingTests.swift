import CompositeOperations
import Foundation
import TestSupport
import Testing

/// The test is mostly that these compile, with the expected inferred types.
@Suite("3 Spellings of closures for SimpleOperation", .hangLimit)
struct BodySpellingTests {
  @Test("3 Closures that return the value")
  func returning_closures() {
    #expect(ended(SimpleOperation<Int> { 42 }).value == 42)
    #expect(ended(SimpleOperation { 42 }).value == 42)
    #expect(ended(SimpleOperation<Int>({ 42 })).value == 42)
    #expect(ended(SimpleOperation { () -> Int in 42 }).value == 42)
    #expect(ended(SimpleOperation { @Sendable in 42 }).value == 42)
    let annotated: SimpleOperation<String> = SimpleOperation { "text" }
    #expect(ended(annotated).value == "text")
    let optional: SimpleOperation<Int?> = SimpleOperation { nil }
    #expect(ended(optional).value == .some(nil))
    #expect(ended(SimpleOperation { (1, "two") }).value! == (1, "two"))
  }

  @Test("3 Closures of several statements that return the value")
  func returning_multiStatementClosures() {
    let sum = SimpleOperation {
      let numbers = [1, 2, 3]
      var sum = 0
      for number in numbers { sum += number }
      return sum
    }
    #expect(ended(sum).value == 6)
    let either = SimpleOperation<String> {
      if sum.isFinished { return "finished" }
      return "unfinished"
    }
    #expect(ended(either).value == "finished")
    #expect(ended(SimpleOperation { sum.isFinished ? "finished" : "unfinished" }).value == "finished")
  }

  @Test("3 Closures that may throw need no type")
  func throwing_closures() {
    let missing = URL(filePath: "/there/is/no/such/file")
    let load = SimpleOperation { try Data(contentsOf: missing) }
    let typed: SimpleOperation<Data> = load
    #expect(ended(typed).error != nil)
    let count = SimpleOperation {
      let data = try Data(contentsOf: missing)
      return data.count
    }
    #expect(ended(count).error != nil)
    #expect(ended(SimpleOperation<Int> { throw TestError.first }).error as? TestError == .first)
  }

  @Test("3 Closures that return nothing")
  func void_closures() {
    let calls = Locked(0)
    func call() { calls.increment() }
    @Sendable func callThrowing() throws { calls.increment() }
    #expect(ended(SimpleOperation<Void> { _ = calls.increment() }).value != nil)
    let inferred: SimpleOperation<Void> = SimpleOperation { try callThrowing() }
    #expect(ended(inferred).value != nil)
    let several = SimpleOperation {
      try callThrowing()
      try callThrowing()
    }
    #expect(ended(several).value != nil)
    #expect(calls.current == 4)
  }

  @Test("3 Functions and stored closures")
  func functionReferences() {
    #expect(ended(SimpleOperation(number)).value == 1)
    #expect(ended(SimpleOperation(throwingText)).error as? TestError == .first)
    #expect(ended(SimpleOperation(settlingFunction)).value == 3)
    let stored: @Sendable () throws -> Int = { 4 }
    #expect(ended(SimpleOperation(stored)).value == 4)
    let settling: @Sendable (SimpleOperation<Int>) -> Void = { $0.finish(with: 5) }
    #expect(ended(SimpleOperation(settling)).value == 5)
    let typedThrows: @Sendable () throws(TestError) -> Int = { () throws(TestError) -> Int in throw .second }
    #expect(ended(SimpleOperation(typedThrows)).error as? TestError == .second)
  }

  @Test("3 Closures that take the operation")
  func settling_closures() {
    #expect(ended(SimpleOperation<Int> { operation in operation.finish(with: 1) }).value == 1)
    #expect(ended(SimpleOperation<Int> { $0.finish(with: 1) }).value == 1)
    #expect(ended(SimpleOperation<Void> { $0.finish() }).value != nil)
    #expect(ended(SimpleOperation<Int> { $0.reject(with: TestError.first) }).error as? TestError == .first)
    #expect(ended(SimpleOperation<Int> { $0.settle(with: .success(1)) }).value == 1)
    #expect(ended(SimpleOperation<Int> { $0.settle(with: .cancelled) }).isCancelled)
    let several = SimpleOperation<Int> { operation in
      let value = 1
      operation.finish(with: value)
    }
    #expect(ended(several).value == 1)
    let typed = SimpleOperation { (operation: SimpleOperation<Int>) in operation.finish(with: 1) }
    #expect(ended(typed).value == 1)
    let unfinished = SimpleOperation<Int> { _ in }
    unfinished.start()
    #expect(!unfinished.isFinished)
    unfinished.finish(with: 1)
  }

  @Test("3 settle(with:) with a Result of any error, of a certain error, and with literals of cases")
  func settle_withResult() {
    #expect(ended(SimpleOperation<Int> { op in callBack { op.settle(with: $0) } }).value == 1)
    #expect(ended(SimpleOperation<Int> { op in callBackTyped { op.settle(with: $0) } }).error as? TestError == .first)
    let several = SimpleOperation<Int> { op in
      callBack { result in
        let isSettled = op.settle(with: result)
        #expect(isSettled)
      }
    }
    #expect(ended(several).value == 1)
    #expect(ended(SimpleOperation<Int> { $0.settle(with: .failure(TestError.first)) }).error as? TestError == .first)
    #expect(ended(SimpleOperation<Int> { $0.settle(with: Result { 2 }) }).value == 2)
    #expect(ended(SimpleOperation<Int> { $0.settle(with: Result<Int, any Error>.success(3)) }).value == 3)
    let cancelling = SimpleOperation<Int> { $0.settle(with: Result<Int, any Error>.failure(CancellationError())) }
    #expect(ended(cancelling).isCancelled)
    let late = SimpleOperation<Int> { 1 }
    late.start()
    #expect(!late.settle(with: Result<Int, TestError>.failure(.first)))
  }

  @Test("3 In a class, with and without a weak self")
  func inClasses() {
    let owner = Owner()
    #expect(ended(owner.load()).value == 7)
    #expect(ended(owner.loadWeakly()).value == 7)
    #expect(ended(owner.settleWeakly()).value == 7)
    #expect(ended(owner.note()).value != nil)
    #expect(owner.notes.current == 1)
  }

  private func ended<Value>(_ operation: SimpleOperation<Value>) -> Outcome<Value> {
    operation.start()
    return operation.outcome ?? .failure(TestError("has not settled"))
  }
}

@Sendable private func number() -> Int { 1 }
@Sendable private func throwingText() throws -> String { throw TestError.first }
@Sendable private func settlingFunction(_ operation: SimpleOperation<Int>) { operation.finish(with: 3) }
private func callBack(_ done: @escaping @Sendable (Result<Int, any Error>) -> Void) { done(.success(1)) }
private func callBackTyped(_ done: @escaping @Sendable (Result<Int, TestError>) -> Void) { done(.failure(.first)) }

private final class Owner: Sendable {
  let number = 7
  let notes = Locked(0)

  func load() -> SimpleOperation<Int> {
    SimpleOperation { self.number }
  }

  func loadWeakly() -> SimpleOperation<Int> {
    SimpleOperation { [weak self] in
      guard let self else { throw CancellationError() }
      return self.number
    }
  }

  func settleWeakly() -> SimpleOperation<Int> {
    SimpleOperation { [weak self] operation in
      guard let self else { return operation.settle(with: .cancelled).discard }
      operation.finish(with: self.number)
    }
  }

  func note() -> SimpleOperation<Void> {
    SimpleOperation { [weak self] in self?.increment() }
  }

  private func increment() { notes.increment() }
}

extension Bool {
  fileprivate var discard: Void { () }
}
