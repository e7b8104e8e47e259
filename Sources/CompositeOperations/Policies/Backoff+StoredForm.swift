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
    return text + jitter.spread.rawValue
  }

  /// Reads a backoff from its ``storedForm``; nil if the text is invalid.
  package init?(storedForm: String) {
    let mark = storedForm.firstIndex { $0 == "!" || $0 == "~" } ?? storedForm.endIndex
    let (start, limit) = storedForm[..<mark].halves(at: "<")
    let maximum = limit.flatMap { Duration(storedForm: $0) }
    guard let kind = Kind(storedForm: start), let spread = Jitter.Spread(rawValue: String(storedForm[mark...])),
      (maximum == nil) == (limit == nil)
    else { return nil }
    self.init(kind: kind, maximum: maximum, jitter: Jitter(spread: spread))
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
      let (first, increment) = numbers.halves(at: "+")
      guard let first = Duration(storedForm: first), let increment = increment.flatMap({ Duration(storedForm: $0) })
      else { return nil }
      self = .linear(first: first, increment: increment)
    case "e":
      let (first, multiplier) = numbers.halves(at: "*")
      guard let first = Duration(storedForm: first), let multiplier = multiplier.flatMap({ Double($0) }),
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

extension Substring {
  /// The text before the first separator, and the text after it; nil if there is no separator.
  fileprivate func halves(at separator: Character) -> (Substring, Substring?) {
    guard let place = firstIndex(of: separator) else { return (self, nil) }
    return (self[..<place], self[index(after: place)...])
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
    let (whole, decimals) = storedForm.halves(at: ".")
    let places = decimals ?? "0"
    guard let milliseconds = Self.digits(whole), places.utf8.count <= 15, var fraction = Self.digits(places)
    else { return nil }
    for _ in places.utf8.count..<15 { fraction *= 10 }
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
