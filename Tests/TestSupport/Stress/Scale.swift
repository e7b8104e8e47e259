import Foundation

/// The scale of the stress tests: `STRESS_SCALE` times the full amount, 1 by default.
public enum Scale {
  /// The value of `STRESS_SCALE`.
  public static let factor: Double = {
    guard let text = ProcessInfo.processInfo.environment["STRESS_SCALE"] else { return 1 }
    guard let factor = Double(text), factor > 0 else {
      preconditionFailure("STRESS_SCALE is no number above 0: \(text)")
    }
    return factor
  }()

  /// The scaled `count`, `least` or more.
  public static func count(_ count: Int, least: Int = 1) -> Int {
    max(least, Int(Double(count) * factor))
  }

  /// Whether what has this number among many of a kind is tested: all are in full, one in `share`
  /// else.
  ///
  /// With a share that has no divisor in common with the parts of a table, such as the values that
  /// each column gets, all parts have their turn.
  public static func includes(_ number: Int, oneIn share: Int) -> Bool {
    factor >= 1 || number.isMultiple(of: share)
  }
}
