// Each form of CompositeOperations once. Run it with: swift run QuickTour
import CompositeOperations
import Foundation

/// A subclass: `main` does the work, or starts it, and the code that finishes it settles the
/// operation, once.
final class Square: SimpleOperation<Int>, @unchecked Sendable {  // only constants
  let number: Int

  init(_ number: Int) {
    self.number = number
    super.init()
    name = "square of \(number)"
  }

  override func main() {
    if number < 0 { reject(with: Refusal(number: number)) } else { finish(with: number * number) }
  }
}

struct Refusal: Error {
  let number: Int
}

/// A sequence delegate: asked for the first operation, then for the next one after each that
/// finished, failed ones too.
struct Halving: CompositeOperation.Sequence {
  mutating func nextOperation(after previous: Operation?) throws -> Operation? {
    guard let previous else { return SimpleOperation { $0.finish(with: 20) } }
    if let error = previous.failure { throw error }
    guard let number = previous.result(as: Int.self), number > 4 else { return nil }
    return SimpleOperation { $0.finish(with: number / 2) }
  }
}

@main
enum QuickTour {
  static func show(_ title: String, _ value: Any) {
    print(title.padding(toLength: 26, withPad: " ", startingAt: 0), value)
  }

  static func main() async throws {
    // One operation: a closure, a class, an async closure. Each settles once: with a value, an
    // error, or cancelled.
    show("closure", try await SimpleOperation { $0.finish(with: 42) }.run())
    show("subclass", try await Square(7).run())
    show("async closure", try await AsyncOperation { await Task { "from a task" }.value }.run())

    // Started by hand, watched by its completion; `value` waits and does not start.
    let greeting = SimpleOperation { $0.finish(with: "hello") }
    greeting.completion = { show("completion", $0) }
    greeting.start()
    show("value", try await greeting.value)

    // In parallel: the values come in the order of the children. A composite is an operation, so it
    // nests.
    show("parallel", try await CompositeOperation(operations: (1...4).map(Square.init)).run())
    show(
      "builder",
      try await CompositeOperation {
        Square(1)
        CompositeOperation {
          Square(2)
          BlockOperation {}
        }
        if ProcessInfo.processInfo.processorCount > 0 { Square(3) }
      }.run())

    // In sequence: a delegate of one's own, given steps, attempts.
    show("sequence delegate", try await CompositeOperation(sequence: Halving()).run())
    show(
      "linear sequence",
      try await CompositeOperation(
        sequence: LinearSequence(
          { _ in Square(3) },
          { previous in Square(previous?.result() ?? 0) })
      ).run())
    let attempts = RetrySequence(maxAttempts: 5) { attempt in Square(attempt < 3 ? -attempt : attempt) }
    show("retry sequence", try await CompositeOperation(sequence: attempts).run())

    // When children fail: the rest is cancelled, or waited for. The error names every failure.
    let strict = CompositeOperation(operations: [Square(-1), Square(2)])
    strict.maxConcurrentOperationCount = 1
    _ = try? await strict.run()
    show("cancel remaining", strict.childOutcomes.map { $0?.isCancelled == true ? "cancelled" : "failed" })
    let patient = CompositeOperation(operations: [Square(-1), Square(2), Square(-3)])
    patient.failurePolicy = .waitForAll
    do { try await patient.run() } catch let error as CompositeError {
      show("wait for all", error.failures.map { "\($0.index): \($0.operationName ?? "")" })
    }

    // On a queue of one's own, which sets the limit; only leaves take its slots, so nesting never
    // locks up.
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let inner = CompositeOperation(operations: [Square(5), Square(6)], operationQueue: queue)
    show("given queue", try await queue.run(CompositeOperation(operations: [Square(4), inner], operationQueue: queue)))

    // Typed composition: one operation from others.
    show("then", try await Square(2).then { Square($0) }.run())
    show("map", try await Square(3).map { "nine is \($0)" }.run())
    show("mapAsync", try await Square(4).mapAsync { number in await Task { number + 1 }.value }.run())
    show("recover", try await Square(-5).recover { _ in Square(5) }.run())
    show("zip", try await zip(Square(6), greeting, AsyncOperation { true }).run())
    show("all", try await all([Square(1), Square(2), Square(3)], maxConcurrent: 2).run())
    show("first success", try await firstSuccess(of: [Square(-1), Square(-2), Square(9)]).run())
    show("for each", try await forEach(1...5, maxConcurrent: 2) { Square($0) }.run())

    // Cancelling: the hook stops the work that is under way; what it still gives is discarded.
    let endless = SimpleOperation<Int> { operation in
      operation.onCancel = { operation.settle(with: .cancelled) }
    }
    endless.start()
    endless.cancel()
    show("cancelled", endless.anyOutcome.map { "\($0)" } ?? "unsettled")
  }
}
