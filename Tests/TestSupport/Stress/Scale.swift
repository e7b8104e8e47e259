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
}
