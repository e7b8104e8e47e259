extension JobBackoff {
  /// The longest delay that can be stored: a century, at which the core's backoff ends too.
  static let longestMilliseconds: Int64 = 100 * 365 * 24 * 3_600_000

  // The maximum that the stored form leaves out. Not `defaultMaximum`: if that ever changes, what is stored stays as it is.
  private static let impliedMaximum: Int64 = 24 * 3_600_000

  /// A short text by which the backoff is stored with each job, which later versions of the package can read too.
  ///
  /// A letter and its numbers, in milliseconds: `n` for none, `c500` for a constant delay, `l500+250` for a linear one,
  /// `e1000*2` for an exponential and `f1000` for a Fibonacci one. Then `<60000` for a maximum that is not a day, then `!` if
  /// there is no jitter.
  public var storedForm: String {
    var text =
      switch kind {
      case .none: "n"
      case .constant(let delay): "c\(delay)"
      case .linear(let first, let increment): "l\(first)+\(increment)"
      case .exponential(let first, let multiplier): "e\(first)*\(Self.short(multiplier))"
      case .fibonacci(let unit): "f\(unit)"
      }
    if maximumMilliseconds != Self.impliedMaximum { text += "<\(maximumMilliseconds)" }
    if !jitter { text += "!" }
    return text
  }

  /// Reads a backoff from its ``storedForm``; nil if that is none.
  public init?(storedForm: String) {
    var rest = Substring(storedForm)
    let jitter = rest.last != "!"
    if !jitter { rest.removeLast() }
    let halves = rest.split(separator: "<", maxSplits: 1, omittingEmptySubsequences: false)
    guard let kind = Kind(storedForm: halves[0]),
      let maximum = halves.count < 2 ? Self.impliedMaximum : Self.milliseconds(halves[1])
    else { return nil }
    self.init(kind: kind, maximumMilliseconds: maximum, jitter: jitter)
  }

  private static func short(_ number: Double) -> String {
    let text = "\(number)"
    return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
  }

  fileprivate static func milliseconds(_ text: Substring) -> Int64? {
    guard text.utf8.allSatisfy({ (48...57).contains($0) }), let number = Int64(text) else { return nil }
    return number <= longestMilliseconds ? number : nil
  }
}

extension JobBackoff.Kind {
  fileprivate init?(storedForm: Substring) {
    let numbers = storedForm.dropFirst()
    switch storedForm.first {
    case "n":
      guard numbers.isEmpty else { return nil }
      self = .none
    case "c":
      guard let delay = JobBackoff.milliseconds(numbers) else { return nil }
      self = .constant(delay)
    case "l":
      let parts = numbers.split(separator: "+", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, let first = JobBackoff.milliseconds(parts[0]),
        let increment = JobBackoff.milliseconds(parts[1])
      else { return nil }
      self = .linear(first: first, increment: increment)
    case "e":
      let parts = numbers.split(separator: "*", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, let first = JobBackoff.milliseconds(parts[0]), let multiplier = Double(parts[1]),
        multiplier >= 1, multiplier.isFinite
      else { return nil }
      self = .exponential(first: first, multiplier: multiplier)
    case "f":
      guard let unit = JobBackoff.milliseconds(numbers) else { return nil }
      self = .fibonacci(unit)
    default:
      return nil
    }
  }
}

extension JobBackoff: Codable {
  /// Reads a backoff from its ``storedForm``.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let backoff = JobBackoff(storedForm: text) else {
      throw DecodingError.dataCorruptedError(
        in: container,
        debugDescription:
          "“\(text)” is no stored backoff. One looks like “e1000*2”; a later version of the package may know "
          + "others.")
    }
    self = backoff
  }

  /// Writes the ``storedForm``.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(storedForm)
  }
}
