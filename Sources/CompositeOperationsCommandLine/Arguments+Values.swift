import Foundation

extension Arguments {
  /// The value of an option as a whole number; nil if it was not given.
  ///
  /// - Parameters:
  ///   - name: the option.
  ///   - range: what it may be.
  ///   - meaning: what it is, for who has given something else.
  package func integer<Number: FixedWidthInteger & Sendable>(
    _ name: String, in range: ClosedRange<Number>, meaning: String = "a whole number"
  ) throws(UsageError) -> Number? {
    guard let value = value(name) else { return nil }
    guard let number = Number(value), range.contains(number) else {
      let limits = range.upperBound == .max ? "on" : "to \(range.upperBound)"
      throw wrong(name, "Give \(meaning) from \(range.lowerBound) \(limits)")
    }
    return number
  }

  /// The value of an option as a number; nil if it was not given.
  ///
  /// - Parameters:
  ///   - name: the option.
  ///   - range: what it may be.
  ///   - meaning: what it is, for who has given something else.
  package func number(
    _ name: String, in range: ClosedRange<Double>, meaning: String = "a number"
  ) throws(UsageError) -> Double? {
    guard let value = value(name) else { return nil }
    guard let number = Double(value), range.contains(number) else {
      throw wrong(name, "Give \(meaning) from \(Self.short(range.lowerBound)) to \(Self.short(range.upperBound))")
    }
    return number
  }

  /// The value of an option as the address of a server; nil if it was not given.
  package func webAddress(_ name: String) throws(UsageError) -> URL? {
    guard let value = value(name) else { return nil }
    guard let url = URL(string: value), ["http", "https"].contains(url.scheme?.lowercased()), url.host?.isEmpty == false
    else { throw wrong(name, "Give an http or https address") }
    return url
  }

  private static func short(_ number: Double) -> String {
    number == number.rounded() && abs(number) < 1e15 ? String(Int(number)) : String(number)
  }
}
