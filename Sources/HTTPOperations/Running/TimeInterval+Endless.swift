import Foundation

extension TimeInterval {
  /// Longer than anybody waits. What does not fit into an integer, as milliseconds, ends the process in Foundation.
  static let endless: TimeInterval = 1_000_000_000
}
