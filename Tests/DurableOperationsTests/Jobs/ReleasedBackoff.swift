import CompositeOperations

/// The backoff of jobs as version 0.1.0 reads it from its stored form, and the delays that it
/// gives.
///
/// Not to be changed: there are files, and programs, of that version.
struct ReleasedBackoff {
  enum Kind {
    case none
    case constant(Int64)
    case linear(first: Int64, increment: Int64)
    case exponential(first: Int64, multiplier: Double)
    case fibonacci(Int64)
  }

  let kind: Kind
  let maximumMilliseconds: Int64
  let jitter: Bool

  init?(storedForm: String) {
    var rest = Substring(storedForm)
    jitter = rest.last != "!"
    if !jitter { rest.removeLast() }
    let halves = rest.split(separator: "<", maxSplits: 1, omittingEmptySubsequences: false)
    guard let kind = Kind(storedForm: halves[0]),
      let maximum = halves.count < 2 ? 24 * 3_600_000 : Self.milliseconds(halves[1])
    else { return nil }
    self.kind = kind
    maximumMilliseconds = maximum
  }

  /// Of delays, the part that belongs to jobs; what the core gave has not changed since.
  func delay(afterAttempt attempt: Int, using random: inout some RandomNumberGenerator) -> Duration {
    let delay = min(backoff.delay(afterAttempt: attempt), .milliseconds(maximumMilliseconds))
    let (seconds, attoseconds) = delay.components
    let milliseconds = seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    guard jitter, delay > .zero else { return .milliseconds(milliseconds) }
    return .milliseconds(Int64.random(in: 0...milliseconds, using: &random))
  }

  private var backoff: Backoff {
    switch kind {
    case .none: .noDelay
    case .constant(let delay): .constant(.milliseconds(delay))
    case .linear(let first, let increment): .linear(from: .milliseconds(first), by: .milliseconds(increment))
    case .exponential(let first, let multiplier): .exponential(from: .milliseconds(first), multiplier: multiplier)
    case .fibonacci(let unit): .fibonacci(.milliseconds(unit))
    }
  }

  fileprivate static func milliseconds(_ text: Substring) -> Int64? {
    guard text.utf8.allSatisfy({ (48...57).contains($0) }), let number = Int64(text) else { return nil }
    return number <= 100 * 365 * 24 * 3_600_000 ? number : nil
  }
}

extension ReleasedBackoff.Kind {
  fileprivate init?(storedForm: Substring) {
    let numbers = storedForm.dropFirst()
    switch storedForm.first {
    case "n":
      guard numbers.isEmpty else { return nil }
      self = .none
    case "c":
      guard let delay = ReleasedBackoff.milliseconds(numbers) else { return nil }
      self = .constant(delay)
    case "l":
      let parts = numbers.split(separator: "+", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, let first = ReleasedBackoff.milliseconds(parts[0]),
        let increment = ReleasedBackoff.milliseconds(parts[1])
      else { return nil }
      self = .linear(first: first, increment: increment)
    case "e":
      let parts = numbers.split(separator: "*", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, let first = ReleasedBackoff.milliseconds(parts[0]), let multiplier = Double(parts[1]),
        multiplier >= 1, multiplier.isFinite
      else { return nil }
      self = .exponential(first: first, multiplier: multiplier)
    case "f":
      guard let unit = ReleasedBackoff.milliseconds(numbers) else { return nil }
      self = .fibonacci(unit)
    default:
      return nil
    }
  }
}
