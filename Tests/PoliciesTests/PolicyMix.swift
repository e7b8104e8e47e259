import CompositeOperations
import CompositeOperationsTestKit
import TestSupport

/// A tree with a random mix of all policies and compositions; its outcome depends on timing.
///
/// It is a value, so that late or repeated parts are made anew each time.
indirect enum PolicyMix: Sendable {
  enum Ending: CaseIterable, Sendable {
    case success, failure, cancelled
  }

  /// The state of an operation that other code started, when a policy gets it.
  enum Elsewhere: CaseIterable, Sendable {
    case running, finished, queued, cancelled, cancelledAndFinished
  }

  indirect enum Wrapper: Sendable {
    case timeout(seconds: Int, TimeoutBehavior, asDeadline: Bool)
    case exclusive([Int])
    case condition(Requirement)
    /// By a limit of its own, twice, one inside the other: circles through limits are not detected.
    case limited(weight: Int)
    /// By one breaker for all.
    case guarded
    case map, recover, settled
  }

  /// How several operations become one value.
  enum Gathering: CaseIterable, Sendable {
    case all, allSettled, firstSuccess, forEach, zip
  }

  /// What a condition does.
  indirect enum Requirement: Sendable {
    case holds, doesNotHold, throwsCancellation
    case waits(seconds: Int)
    case cancelsTheOperation, settlesTheOperation
    case needs(PolicyMix)
    /// A prerequisite that other conditions share.
    case needsShared(Int)
    case both(Requirement, Requirement)
    case either(Requirement, Requirement)
  }

  /// What an observer does, once, at the event of this number.
  enum Reaction: CaseIterable, Sendable {
    case cancel, settle, addObserver, leave, cancelAnother, suspendAny, readProgress
  }

  /// What other code does with an operation.
  struct Extras: Sendable {
    var reaction: (Reaction, atEvent: Int)?
    /// Whether other code may settle it, while the operations inside continue for a while.
    var isSettledByOthers: Bool { if case .settle? = reaction?.0 { true } else { false } }
  }

  case leaf(Ending, later: Bool)
  case plain(later: Bool)
  case async(seconds: Int)
  case delay(seconds: Int)
  case never(seconds: Int, TimeoutBehavior, holdsOn: Bool)
  case wrapped(PolicyMix, Wrapper, Extras)
  /// A policy around an operation that other code has started.
  case elsewhere(Elsewhere, Ending, Wrapper, Extras)
  /// One operation that several compositions wait for.
  case shared(Int)
  case retry([PolicyMix], delay: Int, firstIsThere: Bool, Extras)
  case parallel([PolicyMix], queue: Int?, limit: Int?, waitsForAll: Bool, hasDependency: Bool, Extras)
  case sequence([PolicyMix], queue: Int?, Extras)
  case chain(PolicyMix, PolicyMix, Extras)
  case gathered(Gathering, [PolicyMix], limit: Int?, Extras)
  /// Rounds that follow each other until one fails.
  case rounds([PolicyMix], delay: Int, Extras)

  static let categoryCount = 3
  static let sharedCount = 3
}

// MARK: - At random

extension PolicyMix {
  static func random(_ depth: Int, _ random: inout SeededRandomNumberGenerator) -> PolicyMix {
    if depth == 0 || random.chance(12) { return leaf(&random) }
    switch random.number(0...99) {
    case 0..<50:
      return .wrapped(.random(depth - 1, &random), wrapper(depth - 1, &random), extras(&random))
    case 50..<58:
      return .retry(
        some(1...3, depth, &random), delay: random.number(0...3), firstIsThere: random.chance(40), extras(&random))
    case 58..<72:
      return .parallel(
        some(1...4, depth, &random), queue: random.chance(60) ? random.number(0...3) : nil,
        limit: random.chance(30) ? random.number(1...2) : nil, waitsForAll: random.chance(50),
        hasDependency: random.chance(30), extras(&random))
    case 72..<82:
      return .gathered(
        random.pick(Gathering.allCases), some(1...4, depth, &random),
        limit: random.chance(30) ? random.number(1...2) : nil, extras(&random))
    case 82..<85:
      return .rounds(some(1...3, depth, &random), delay: random.number(0...2), extras(&random))
    case 85..<93:
      return .sequence(
        some(1...4, depth, &random), queue: random.chance(50) ? random.number(0...3) : nil, extras(&random))
    default:
      return .chain(.random(depth - 1, &random), .random(depth - 1, &random), extras(&random))
    }
  }

  private static func some(
    _ range: ClosedRange<Int>, _ depth: Int, _ random: inout SeededRandomNumberGenerator
  ) -> [PolicyMix] {
    (0..<random.number(range)).map { _ in .random(depth - 1, &random) }
  }

  private static func leaf(_ random: inout SeededRandomNumberGenerator) -> PolicyMix {
    switch random.number(0...99) {
    case 0..<55: .leaf(ending(&random), later: random.chance(50))
    case 55..<60: .plain(later: random.chance(50))
    case 60..<68: .async(seconds: random.number(0...4))
    case 68..<74: .delay(seconds: random.number(0...4))
    case 74..<85: .never(seconds: random.number(1...6), behavior(&random), holdsOn: random.chance(50))
    case 85..<92: .shared(random.number(0...sharedCount - 1))
    default:
      .elsewhere(random.pick(Elsewhere.allCases), ending(&random), wrapper(0, &random), extras(&random))
    }
  }

  private static func ending(_ random: inout SeededRandomNumberGenerator) -> Ending {
    random.pick(weighted: [70: Ending.success, 22: .failure, 8: .cancelled])
  }

  private static func behavior(_ random: inout SeededRandomNumberGenerator) -> TimeoutBehavior {
    random.chance(50) ? .settlesAtOnce : .waitsForWork
  }

  private static func wrapper(_ depth: Int, _ random: inout SeededRandomNumberGenerator) -> Wrapper {
    switch random.number(0...99) {
    case 0..<25: .timeout(seconds: random.number(1...12), behavior(&random), asDeadline: random.chance(30))
    case 25..<50: .exclusive((0..<random.number(1...2)).map { _ in random.number(0...categoryCount - 1) })
    case 50..<68: .condition(requirement(depth, &random))
    case 68..<78: .limited(weight: random.number(1...3))
    case 78..<86: .guarded
    default: random.pick([.map, .recover, .settled])
    }
  }

  private static func requirement(_ depth: Int, _ random: inout SeededRandomNumberGenerator) -> Requirement {
    switch random.number(0...99) {
    case 0..<45: return .holds
    case 45..<55: return .doesNotHold
    case 55..<58: return .throwsCancellation
    case 58..<68: return .waits(seconds: random.number(0...3))
    case 68..<71: return .cancelsTheOperation
    case 71..<74: return .settlesTheOperation
    case 74..<82 where depth > 0: return .needs(.random(depth - 1, &random))
    case 74..<90: return .needsShared(random.number(0...sharedCount - 1))
    case 90..<95 where depth > 0:
      return .both(requirement(depth - 1, &random), requirement(depth - 1, &random))
    default:
      return depth > 0 ? .either(requirement(depth - 1, &random), requirement(depth - 1, &random)) : .holds
    }
  }

  private static func extras(_ random: inout SeededRandomNumberGenerator) -> Extras {
    guard random.chance(25) else { return Extras() }
    return Extras(reaction: (random.pick(Reaction.allCases), atEvent: random.number(1...3)))
  }
}
