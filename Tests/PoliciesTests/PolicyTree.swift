import CompositeOperations
import CompositeOperationsTestKit
import Foundation
import TestSupport

/// A tree of operations with policies, whose outcome does not depend on timing.
///
/// An operation that never ends by itself has a timeout of a few seconds; others have one that is
/// too long to matter.
indirect enum PolicyTree: Sendable {
  enum Ending: Sendable {
    case success, failure, cancelled
  }

  case leaf(Ending)
  case delay(seconds: Int)
  case tooSlow(seconds: Int, TimeoutBehavior, asDeadline: Bool, holdsOn: Bool)
  case longTimeout(PolicyTree)
  case retry([PolicyTree], delay: Int, asSequence: Bool)
  case parallel([PolicyTree], limit: Int?, waitsForAll: Bool)
  case sequence([PolicyTree])

  /// The ending, unless it is cancelled.
  var ending: Ending {
    switch self {
    case .leaf(let ending): return ending
    case .delay: return .success
    case .tooSlow: return .failure
    case .longTimeout(let tree): return tree.ending
    case .retry(let attempts, _, _):
      return attempts.map(\.ending).first { $0 != .failure } ?? .failure
    case .parallel(let children, _, _):
      let endings = children.map(\.ending)
      return endings.contains(.failure) ? .failure : endings.contains(.cancelled) ? .cancelled : .success
    case .sequence(let steps):
      return steps.last!.ending
    }
  }

  static func random(_ depth: Int, _ random: inout SeededRandomNumberGenerator) -> PolicyTree {
    if depth == 0 || random.chance(15) { return leaf(&random) }
    func some(_ range: ClosedRange<Int>, _ random: inout SeededRandomNumberGenerator) -> [PolicyTree] {
      (0..<random.number(range)).map { _ in .random(depth - 1, &random) }
    }
    switch random.number(0...9) {
    case 0...1:
      return .longTimeout(.random(depth - 1, &random))
    case 2...4:
      return .retry(some(1...3, &random), delay: random.number(0...3), asSequence: random.chance(40))
    case 5...7:
      let children = some(1...4, &random)
      // With both a failure and a cancellation, the first one would decide.
      let isMixed = children.contains { $0.ending == .cancelled } && children.contains { $0.ending == .failure }
      let limit = random.chance(60) ? random.number(1...4) : nil
      return .parallel(children, limit: limit, waitsForAll: isMixed || random.chance(50))
    default:
      return .sequence(some(1...4, &random))
    }
  }

  private static func leaf(_ random: inout SeededRandomNumberGenerator) -> PolicyTree {
    switch random.number(0...9) {
    case 0...2: .leaf(.success)
    case 3...4: .leaf(.failure)
    case 5: .leaf(.cancelled)
    case 6: .delay(seconds: random.number(0...5))
    default:
      .tooSlow(
        seconds: random.number(1...9), random.chance(50) ? .settlesAtOnce : .waitsForWork,
        asDeadline: random.chance(30),
        holdsOn: random.chance(50))
    }
  }
}

/// Makes the operations of trees, and watches their queues.
final class PolicyTreeBuilder: Sendable {
  /// Timeouts that end nothing end after this.
  static let farAway = Duration.seconds(1_000_000_000)

  let clock = ManualClock()
  /// Complaints about operations that ran at once when they must not.
  let complaints = EventRecorder<String>()

  private struct Place: Sendable {
    let limit: Int
    let gauge = ConcurrencyGauge()
  }

  func operation(_ tree: PolicyTree) -> SimpleOperation<Int> { operation(tree, in: nil) }

  private func operation(_ tree: PolicyTree, in place: Place?) -> SimpleOperation<Int> {
    switch tree {
    case .leaf(let ending):
      return SimpleOperation { operation in
        self.enter(place)
        place?.gauge.leave()
        switch ending {
        case .success: operation.finish(with: 1)
        case .failure: operation.reject(with: TestError.first)
        case .cancelled: operation.settle(with: .cancelled)
        }
      }
    case .delay(let seconds):
      return DelayOperation(.seconds(seconds), clock: clock).map { 1 }
    case .tooSlow(let seconds, let behavior, let asDeadline, let holdsOn):
      return tooSlow(seconds, behavior, asDeadline: asDeadline, holdsOn: holdsOn, in: place)
    case .longTimeout(let tree):
      return operation(tree, in: place).timeout(PolicyTreeBuilder.farAway, clock: clock)
    case .retry(let attempts, let delay, let asSequence):
      return retry(attempts, .seconds(delay), asSequence: asSequence, in: place)
    case .parallel(let children, let limit, let waitsForAll):
      let inner = limit.map { Place(limit: $0) } ?? place
      let composite = CompositeOperation(
        operations: children.map { operation($0, in: inner) }, operationQueue: limit.map { OperationQueue(limit: $0) })
      composite.failurePolicy = waitsForAll ? .waitForAll : .cancelRemaining
      return composite.map { $0.count }
    case .sequence(let steps):
      return CompositeOperation(sequence: ListSequence(steps.map { operation($0, in: place) })).map { $0.count }
    }
  }

  private func retry(
    _ attempts: [PolicyTree], _ delay: Duration, asSequence: Bool, in place: Place?
  ) -> SimpleOperation<Int> {
    guard asSequence else {
      let policy = RetryPolicy(maxAttempts: attempts.count, backoff: .constant(delay), jitter: .none)
      return retrying(policy, clock: clock) { [self] in operation(attempts[$0.number - 1], in: place) }
    }
    return CompositeOperation(
      sequence: RetrySequence(maxAttempts: attempts.count) { [self] in operation(attempts[$0 - 1], in: place) }
    ).map { $0.count }
  }

  private func tooSlow(
    _ seconds: Int, _ behavior: TimeoutBehavior, asDeadline: Bool, holdsOn: Bool, in place: Place?
  ) -> SimpleOperation<Int> {
    let never = NeverFinishingOperation<Int>(holdsOn: holdsOn)
    never.started.whenOpen {
      self.enter(place)
      never.completion = { _ in place?.gauge.leave() }
    }
    // Work that ignores its cancel continues a little longer; it must keep its slot that long.
    if holdsOn {
      never.cancelRequested.whenOpen { DispatchQueue.global().async { never.release() } }
    }
    guard asDeadline else { return never.timeout(.seconds(seconds), behavior, clock: clock) }
    return never.deadline(clock.now.advanced(by: .seconds(seconds)), clock: clock, behavior)
  }

  private func enter(_ place: Place?) {
    guard let place, place.gauge.enter() > place.limit else { return }
    complaints.record("more than \(place.limit) leaves at once in a queue")
  }
}
