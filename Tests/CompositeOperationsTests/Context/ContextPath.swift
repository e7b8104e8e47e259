import CompositeOperations
import Foundation
import TestSupport
import Testing

/// One way in which code of the user is called for an operation.
struct ContextPath: Sendable, CustomTestStringConvertible {
  let name: String
  /// The places that the code notes.
  let places: Set<String>
  let make: @Sendable (SeenRequests) -> SimpleOperation<Int>

  var testDescription: String { name }

  init(_ name: String, _ places: Set<String>, _ make: @escaping @Sendable (SeenRequests) -> SimpleOperation<Int>) {
    (self.name, self.places, self.make) = (name, places, make)
  }

  static let all = [
    bodyReturns, bodySettles, main, perform, anAsyncBody, mapping, mapAsync, thenClosure, recovering,
    retryingAttempts, closuresRetryPolicy, retrySequence, linearSequence, repeatingRounds, condition,
    breaker, forEachItem, sequence, childrenFoundation, completion, observers, progressReports,
    compositesCompletion, nestedCompositions, inQueue, timeout, limit,
  ]

  private static let bodyReturns = ContextPath("a body that returns", ["body"]) { seen in
    SimpleOperation {
      seen.note("body")
      return 1
    }
  }

  private static let bodySettles = ContextPath("a body that settles", ["body"]) { seen in
    SimpleOperation<Int> { operation in
      seen.note("body")
      operation.finish(with: 1)
    }
  }

  private static let main = ContextPath("main", ["main"]) { seen in NotingMain(seen) }

  private static let perform = ContextPath("perform", ["perform"]) { seen in NotingPerform(seen) }

  private static let anAsyncBody = ContextPath("an async body", ["body", "after a wait", "child task", "task"]) {
    seen in
    AsyncOperation {
      seen.note("body")
      await Task.yield()
      seen.note("after a wait")
      async let child: Void = seen.note("child task")
      await child
      await Task { seen.note("task") }.value
      return 1
    }
  }

  private static let mapping = ContextPath("map", ["transform"]) { seen in
    succeeding(1).map {
      seen.note("transform")
      return $0
    }
  }

  private static let mapAsync = ContextPath("mapAsync", ["transform"]) { seen in
    succeeding(1).mapAsync {
      seen.note("transform")
      return $0
    }
  }

  private static let thenClosure = ContextPath("then", ["closure", "body"]) { seen in
    succeeding(1).then { _ in
      seen.note("closure")
      return SimpleOperation {
        seen.note("body")
        return 1
      }
    }
  }

  private static let recovering = ContextPath("recover", ["closure", "body"]) { seen in
    failing(TestError.first).recover { _ in
      seen.note("closure")
      return SimpleOperation {
        seen.note("body")
        return 1
      }
    }
  }

  private static let retryingAttempts = ContextPath("retrying", ["make", "body", "decide"]) { seen in
    retrying(RetryPolicy(maxAttempts: 2)) { attempt in
      seen.note("make")
      return SimpleOperation {
        seen.note("body")
        if attempt.number == 1 { throw TestError.first }
        return 1
      }
    } decide: { _ in
      seen.note("decide")
      return .retry
    }
  }

  private static let closuresRetryPolicy = ContextPath(
    "the closures of a retry policy", ["delays", "decide", "willRetry"]
  ) { seen in
    var policy = RetryPolicy(maxAttempts: 2) { _, _ in
      seen.note("decide")
      return .retry
    }
    policy.delays = { _ in
      seen.note("delays")
      return .zero
    }
    policy.willRetry = { _, _, _ in seen.note("willRetry") }
    return retrying(policy) { attempt in attempt.number == 1 ? failing(TestError.first) : succeeding(1) }
  }

  private static let retrySequence = ContextPath("a retry sequence", ["make", "body"]) { seen in
    let sequence = RetrySequence(maxAttempts: 2) { attempt in
      seen.note("make")
      return SimpleOperation {
        seen.note("body")
        if attempt == 1 { throw TestError.first }
      }
    }
    return CompositeOperation(sequence: sequence).map(\.count)
  }

  private static let linearSequence = ContextPath("a linear sequence", ["first", "second"]) { seen in
    let sequence = LinearSequence(
      { _ in
        seen.note("first")
        return succeeding(1)
      },
      { _ in
        seen.note("second")
        return nil
      })
    return CompositeOperation(sequence: sequence).map(\.count)
  }

  private static let repeatingRounds = ContextPath("repeating", ["make", "until"]) { seen in
    repeating(
      every: .zero,
      until: { _ in
        seen.note("until")
        return true
      }
    ) { _ in
      seen.note("make")
      return succeeding(1)
    }
  }

  private static let condition = ContextPath("a condition", ["prerequisite", "body of the prerequisite", "evaluate"]) {
    seen in
    succeeding(1).condition(NotingCondition(seen: seen))
  }

  private static let breaker = ContextPath("a breaker", ["isFailure"]) { seen in
    let breaker = CircuitBreaker(isFailure: { _ in
      seen.note("isFailure")
      return true
    })
    return failing(TestError.first).guarded(by: breaker).recover { _ in succeeding(1) }
  }

  private static let forEachItem = ContextPath("forEach", ["make", "body"]) { seen in
    forEach([1, 2, 3], maxConcurrent: 2) { number in
      seen.note("make")
      return SimpleOperation {
        seen.note("body")
        return number
      }
    }.map(\.count)
  }

  private static let sequence = ContextPath("a sequence", ["delegate", "body"]) { seen in
    let left = Locked(3)
    let sequence = ClosureSequence { _ in
      seen.note("delegate")
      guard
        left.withLock({
          $0 -= 1; return $0 >= 0
        })
      else { return nil }
      return SimpleOperation { seen.note("body") }
    }
    return CompositeOperation(sequence: sequence).map(\.count)
  }

  private static let childrenFoundation = ContextPath("children of Foundation", ["block", "main"]) { seen in
    let plain = RecordingMain(seen)
    return CompositeOperation(operations: [BlockOperation { seen.note("block") }, plain]).map(\.count)
  }

  private static let completion = ContextPath("a completion", ["completion"]) { seen in
    let operation = succeeding(1)
    operation.completion = { _ in seen.note("completion") }
    return operation
  }

  private static let observers = ContextPath("observers", ["observer", "tree observer", "sink"]) { seen in
    let operation = succeeding(1).map { $0 }
    operation.addObserver { _ in seen.note("observer") }
    operation.addTreeObserver { _, _ in seen.note("tree observer") }
    operation.report(to: NotingSink(seen: seen))
    return operation
  }

  private static let progressReports = ContextPath("progress", ["body", "observer"]) { seen in
    let operation = AsyncOperation<Int>(reporting: { progress in
      seen.note("body")
      progress.report(0.5)
      return 1
    })
    operation.addObserver { event in if event.kind == .progress { seen.note("observer") } }
    return operation
  }

  private static let compositesCompletion = ContextPath("a composite's completion", ["completion"]) { seen in
    let composite = CompositeOperation(operations: [succeeding(1)])
    composite.completion = { _ in seen.note("completion") }
    return composite.map(\.count)
  }

  private static let nestedCompositions = ContextPath("nested compositions", ["closure", "body", "completion"]) {
    seen in
    CompositeOperation {
      zip(
        succeeding(1).then { _ in
          seen.note("closure")
          return firstSuccess(of: [
            SimpleOperation<Int> {
              seen.note("body")
              return 1
            }.settled().map { outcome in
              seen.note("completion")
              return outcome.value ?? 0
            }
          ])
        }, succeeding(2))
    }.map(\.count)
  }

  private static let inQueue = ContextPath("in a queue", ["block", "body"]) { seen in
    let operations = [BlockOperation { seen.note("block") }, SimpleOperation<Void> { seen.note("body") }]
    return CompositeOperation(operations: operations, operationQueue: OperationQueue()).map(\.count)
  }

  private static let timeout = ContextPath("a timeout", ["body"]) { seen in
    SimpleOperation {
      seen.note("body")
      return 1
    }.timeout(.seconds(1_000_000))
  }

  private static let limit = ContextPath("a limit", ["body"]) { seen in
    SimpleOperation {
      seen.note("body")
      return 1
    }.limited(by: SharedLimit("limit", maxConcurrent: 1)).exclusive("category", in: ExclusionRegistry())
  }
}

private final class NotingMain: SimpleOperation<Int>, @unchecked Sendable {  // immutable
  private let seen: SeenRequests

  init(_ seen: SeenRequests) {
    self.seen = seen
    super.init()
  }

  override func main() {
    seen.note("main")
    finish(with: 1)
  }
}

private final class NotingPerform: SimpleOperation<Int>, @unchecked Sendable {  // immutable
  private let seen: SeenRequests

  init(_ seen: SeenRequests) {
    self.seen = seen
    super.init()
  }

  override func perform() -> Int {
    seen.note("perform")
    return 1
  }
}

private final class RecordingMain: Operation, @unchecked Sendable {  // immutable
  private let seen: SeenRequests

  init(_ seen: SeenRequests) { self.seen = seen }

  override func main() { seen.note("main") }
}

private struct NotingCondition: OperationCondition {
  let seen: SeenRequests

  func prerequisite(for context: ConditionContext) -> Operation? {
    seen.note("prerequisite")
    return SimpleOperation { seen.note("body of the prerequisite") }
  }

  func evaluate(_ context: ConditionContext) async throws { seen.note("evaluate") }
}
