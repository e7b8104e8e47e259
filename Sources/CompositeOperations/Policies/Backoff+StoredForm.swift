extension Backoff {
  /// The backoff as a short text that can be stored, with each durable job for example: see
  /// ``encode(to:)``.
  package var storedForm: String {
    var text =
      switch kind {
      case .none: "n"
      case .constant(let delay): "c\(delay.storedForm)"
      case .linear(let first, let increment): "l\(first.storedForm)+\(increment.storedForm)"
      case .exponential(let first, let multiplier): "e\(first.storedForm)*\(Self.short(multiplier))"
      case .fibonacci(let unit): "f\(unit.storedForm)"
      }
    if let maximum { text += "<\(maximum.storedForm)" }
    return text + jitter.storedForm
  }

  /// Reads a backoff from its ``storedForm``; nil if the text is invalid.
  package init?(storedForm: String) {
    var rest = Substring(storedForm)
    guard let jitter = Jitter(takenFrom: &rest) else { return nil }
    let halves = rest.split(separator: "<", maxSplits: 1, omittingEmptySubsequences: false)
    guard let kind = Kind(storedForm: halves[0]) else { return nil }
    var maximum: Duration?
    if halves.count > 1 {
      maximum = Duration(storedForm: halves[1])
      if maximum == nil { return nil }
    }
    self.init(kind: kind, maximum: maximum, jitter: jitter)
  }

  private static func short(_ number: Double) -> String {
    let text = "\(number)"
    return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
  }
}

extension Backoff.Kind {
  fileprivate init?(storedForm: Substring) {
    let numbers = storedForm.dropFirst()
    switch storedForm.first {
    case "n":
      guard numbers.isEmpty else { return nil }
      self = .none
    case "c":
      guard let delay = Duration(storedForm: numbers) else { return nil }
      self = .constant(delay)
    case "l":
      let parts = numbers.split(separator: "+", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, let first = Duration(storedForm: parts[0]),
        let increment = Duration(storedForm: parts[1])
      else { return nil }
      self = .linear(first: first, increment: increment)
    case "e":
      let parts = numbers.split(separator: "*", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, let first = Duration(storedForm: parts[0]), let multiplier = Double(parts[1]),
        multiplier >= 1, multiplier.isFinite
      else { return nil }
      self = .exponential(first: first, multiplier: multiplier)
    case "f":
      guard let unit = Duration(storedForm: numbers) else { return nil }
      self = .fibonacci(unit)
    default:
      return nil
    }
  }
}

extension Backoff.Jitter {
  fileprivate var storedForm: String {
    switch spread {
    case .inherited: ""
    case .none: "!"
    case .full: "~f"
    case .equal: "~e"
    case .decorrelated: "~d"
    }
  }

  /// Reads the jitter at the end of a text, and removes it.
  fileprivate init?(takenFrom text: inout Substring) {
    if text.last == "!" {
      text.removeLast()
      self = .none
    } else if let mark = text.firstIndex(of: "~") {
      switch text[mark...] {
      case "~f": self = .full
      case "~e": self = .equal
      case "~d": self = .decorrelated
      default: return nil
      }
      text = text[..<mark]
    } else {
      self = .inherited
    }
  }
}

extension Duration {
  private static let attosecondsInMillisecond: Int64 = 1_000_000_000_000_000

  /// The exact milliseconds of a duration from zero to a century.
  fileprivate var storedForm: String {
    let (seconds, attoseconds) = components
    let (milliseconds, fraction) = attoseconds.quotientAndRemainder(dividingBy: Self.attosecondsInMillisecond)
    let whole = "\(seconds * 1000 + milliseconds)"
    guard fraction > 0 else { return whole }
    // Fifteen digits, without trailing zeros.
    var digits = Substring("\(Self.attosecondsInMillisecond + fraction)".dropFirst())
    while digits.last == "0" { digits.removeLast() }
    return "\(whole).\(digits)"
  }

  /// Reads a ``storedForm``; nil if it is invalid or longer than a century.
  fileprivate init?(storedForm: Substring) {
    let parts = storedForm.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard let milliseconds = Self.digits(parts[0]) else { return nil }
    var fraction: Int64 = 0
    if parts.count > 1 {
      guard parts[1].utf8.count <= 15, let digits = Self.digits(parts[1]) else { return nil }
      fraction = digits
      for _ in parts[1].utf8.count..<15 { fraction *= 10 }
    }
    let (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1000)
    self.init(secondsComponent: seconds, attosecondsComponent: rest * Self.attosecondsInMillisecond + fraction)
    guard self <= Backoff.longest else { return nil }
  }

  /// Reads a number that consists of at least one digit, and only digits.
  private static func digits(_ text: Substring) -> Int64? {
    text.utf8.allSatisfy { (48...57).contains($0) } ? Int64(text) : nil
  }
}

extension Backoff: Codable {
  /// Reads a backoff from the text that ``encode(to:)`` writes.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let backoff = Backoff(storedForm: text) else {
      throw DecodingError.dataCorruptedError(
        in: container,
        debugDescription:
          "“\(text)” is not a stored backoff. A stored backoff looks like “e1000*2”. If a later version of the package "
          + "has stored it, update the package.")
    }
    self = backoff
  }

  /// Writes the backoff as a short text, such as `e1000*2<60000~e`. Later versions of the package
  /// can read the text.
  ///
  /// The text is a letter and its numbers, in milliseconds: `n` for none, `c500` for a constant
  /// delay, `l500+250` for a linear one, `e1000*2` for an exponential and `f1000` for a Fibonacci
  /// one. The maximum follows, if there is one, as `<60000`. The jitter comes last: `!` for
  /// ``Jitter/none``, `~f` for ``Jitter/full``, `~e` for ``Jitter/equal`` and `~d` for
  /// ``Jitter/decorrelated``. A fraction of a millisecond follows a point: `c0.05`.
  ///
  /// Versions up to 0.1.0 can read neither `~` nor fractions.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(storedForm)
  }
}
