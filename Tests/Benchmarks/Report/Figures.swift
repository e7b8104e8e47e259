import Foundation

/// Formats figures for all reports.
enum Figures {
  /// A time per operation in the unit that suits it.
  static func time(_ nanoseconds: Double?) -> String {
    guard let nanoseconds else { return "" }
    guard nanoseconds < 10_000_000 else { return "\(decimal(nanoseconds / 1_000_000, 1)) ms" }
    return nanoseconds < 10_000 ? "\(decimal(nanoseconds, 0)) ns" : "\(decimal(nanoseconds / 1_000, 1)) µs"
  }

  /// A number with a fixed count of decimals.
  static func decimal(_ number: Double, _ places: Int) -> String {
    String(format: "%.\(places)f", number)
  }

  /// A ratio: with more decimals where two would show next to nothing.
  static func ratio(_ ratio: Double) -> String {
    decimal(ratio, ratio < 0.095 ? 4 : 2)
  }

  /// A whole number with its thousands set apart.
  static func grouped(_ number: Int) -> String {
    var digits = Array(String(number))
    for position in stride(from: digits.count - 3, to: 0, by: -3) { digits.insert(",", at: position) }
    return String(digits)
  }

  /// The figure of a row: a ratio with its middle half, steps, memory, or allocations.
  static func figure(of result: RowResult) -> String {
    if let ratio = result.ratio {
      let quartiles = (result.ratioQuartiles ?? []).map(Figures.ratio).joined(separator: "–")
      return "\(Figures.ratio(ratio)) (\(quartiles))"
    }
    if let steps = result.steps { return "\(decimal(steps, 0)) steps" }
    if let mebibytes = result.mebibytes { return "\(decimal(mebibytes, 1)) MiB" }
    if result.unit == .allocations {
      return result.allocations.map { "\(decimal($0, 1)) allocations" } ?? "not counted here"
    }
    return result.bytesPerOperation.map { "\(decimal($0, 0)) bytes" } ?? ""
  }

  /// The budget of a row, with its aim.
  static func budget(of result: RowResult) -> String {
    guard let limit = result.budget else { return "" }
    return budget(limit, aim: result.aim, in: result.unit)
  }

  /// A budget with its aim.
  static func budget(_ limit: Double, aim: Double?, in unit: Row.Unit) -> String {
    switch unit {
    case .ratio: ratio(limit) + (aim.map { ", aim \(decimal($0, 2))" } ?? "")
    case .nanoseconds: time(limit)
    case .steps: "\(decimal(limit, 0)) steps"
    case .bytes: "\(decimal(limit, 0)) bytes"
    case .mebibytes: "\(decimal(limit, 0)) MiB"
    case .allocations: decimal(limit, 1)
    }
  }
}
