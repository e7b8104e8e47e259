import CompositeOperations
import Foundation
import TestSupport
import Testing

/// The three kinds of outcome.
enum Ending: Sendable {
  case success, failure, cancelled

  init?<Value>(_ outcome: Outcome<Value>?) {
    switch outcome {
    case .success: self = .success
    case .failure: self = .failure
    case .cancelled: self = .cancelled
    case nil: return nil
    }
  }
}

/// One way in which an operation ends.
struct Path<O: Operation>: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let ending: Ending
  let make: @Sendable () -> O
  let run: @Sendable (O) async -> Void

  init(
    _ description: String, _ ending: Ending, _ make: @escaping @Sendable () -> O,
    run: @escaping @Sendable (O) async -> Void = { operation in await onWorker { operation.start() } }
  ) {
    testDescription = description
    self.ending = ending
    self.make = make
    self.run = run
  }
}

typealias SimplePath = Path<SimpleOperation<Int>>
typealias CompositePath = Path<CompositeOperation>

extension Path where O == SimpleOperation<Int> {
  static var all: [SimplePath] { settledInBody + cancelled + asynchronous }

  private static var settledInBody: [SimplePath] {
    [
      SimplePath("finish in main", .success) { Doubling(1) },
      SimplePath("finish in a body", .success) { succeeding(1) },
      SimplePath("reject", .failure) { failing(TestError.first) },
      SimplePath("settle with cancelled", .cancelled) { cancelling() },
      SimplePath("reject with CancellationError", .cancelled) { failing(CancellationError()) },
      SimplePath("default main", .failure) { SimpleOperation<Int>() },
      SimplePath("settled before start, then started", .success) {
        HeldOperation<Int>()
      } run: { operation in
        operation.finish(with: 1)
        operation.start()
      },
      SimplePath("settled before start, never started", .success) {
        HeldOperation<Int>()
      } run: { operation in
        operation.finish(with: 1)
      },
      SimplePath("in a queue", .success) {
        succeeding(1)
      } run: {
        OperationQueue().addOperation($0)
      },
    ]
  }

  private static var cancelled: [SimplePath] {
    [
      SimplePath("cancelled before start", .cancelled) {
        succeeding(1)
      } run: { operation in
        operation.cancel()
        operation.start()
      },
      SimplePath("cancelled before start, in a queue", .cancelled) {
        succeeding(1)
      } run: { operation in
        operation.cancel()
        OperationQueue().addOperation(operation)
      },
      SimplePath("cancelled while waiting in a queue", .cancelled) {
        succeeding(1)
      } run: { operation in
        let queue = OperationQueue(limit: 1, suspended: true)
        queue.addOperation(operation)
        operation.cancel()
        queue.isSuspended = false
      },
      SimplePath("cancelled before start, settled, then started", .cancelled) {
        HeldOperation<Int>()
      } run: {
        operation in
        operation.cancel()
        operation.finish(with: 1)
        operation.start()
      },
      SimplePath("cancelled while executing, then finish", .cancelled) {
        HeldOperation<Int>()
      } run: { operation in
        operation.start()
        operation.cancel()
        operation.finish(with: 1)
      },
      SimplePath("cancelled while executing, then reject", .cancelled) {
        HeldOperation<Int>()
      } run: { operation in
        operation.start()
        operation.cancel()
        operation.reject(with: TestError.first)
      },
      SimplePath("settles in didCancel", .cancelled) {
        HeldOperation<Int>(settlesWhenCancelled: true)
      } run: {
        operation in
        operation.start()
        operation.cancel()
      },
    ]
  }

  private static var asynchronous: [SimplePath] {
    [
      SimplePath("async work returns", .success) { AsyncOperation { 1 } },
      SimplePath("async work throws", .failure) { AsyncOperation { throw TestError.first } },
      SimplePath("async work is cancelled", .cancelled) {
        AsyncOperation {
          try await Gate().waitUnlessCancelled()
          return 1
        }
      } run: { operation in
        operation.start()
        operation.cancel()
      },
      SimplePath("async work cancelled before start", .cancelled) {
        AsyncOperation { 1 }
      } run: { operation in
        operation.cancel()
        operation.start()
      },
      SimplePath("map", .success) { succeeding(1).map { $0 } },
      SimplePath("then", .success) { succeeding(1).then { succeeding($0) } },
      SimplePath("map after a failure", .failure) { failing(TestError.first).map { $0 } },
      SimplePath("map cancelled before start", .cancelled) {
        succeeding(1).map { $0 }
      } run: { operation in
        operation.cancel()
        operation.start()
      },
    ]
  }
}

extension Path where O == CompositeOperation {
  static var all: [CompositePath] {
    [
      CompositePath("no children", .success) { CompositeOperation(operations: []) },
      CompositePath("all succeed", .success) { CompositeOperation(operations: [succeeding(1), BlockOperation {}]) },
      CompositePath("one fails", .failure) { CompositeOperation(operations: [failing(TestError.first), Doubling(1)]) },
      CompositePath("one is cancelled", .cancelled) { CompositeOperation(operations: [cancelling(), Doubling(1)]) },
      CompositePath("cancelled before start", .cancelled) {
        CompositeOperation(operations: [Doubling(1)])
      } run: {
        operation in
        operation.cancel()
        operation.start()
      },
      CompositePath("cancelled while running", .cancelled) {
        CompositeOperation(operations: [HeldOperation<Int>(settlesWhenCancelled: true), Doubling(1)])
      } run: { operation in
        await onWorker { operation.start() }
        operation.cancel()
      },
      CompositePath("the same child twice", .failure) {
        let child = Doubling(1)
        return CompositeOperation(operations: [child, child])
      },
      CompositePath("sequence: nil at once", .success) { CompositeOperation(sequence: ListSequence([])) },
      CompositePath("sequence: all succeed", .success) { CompositeOperation(sequence: ListSequence([Doubling(1)])) },
      CompositePath("sequence: last fails", .failure) {
        CompositeOperation(sequence: ListSequence([failing(TestError.first)]))
      },
      CompositePath("sequence: last is cancelled", .cancelled) {
        CompositeOperation(sequence: ListSequence([cancelling()]))
      },
      CompositePath("sequence: the delegate throws", .failure) {
        CompositeOperation(sequence: ClosureSequence { _ in throw TestError.first })
      },
      CompositePath("sequence: cancelled before start", .cancelled) {
        CompositeOperation(sequence: ListSequence([Doubling(1)]))
      } run: { operation in
        operation.cancel()
        operation.start()
      },
    ]
  }
}
