import Foundation

/// The time of a temporary fault. Tests do not wait for events with it.
public enum Fault {
  /// Returns after a random time.
  public static func lasts(_ milliseconds: ClosedRange<Int32>, using generator: inout some RandomNumberGenerator) {
    poll(nil, 0, .random(in: milliseconds, using: &generator))
  }
}

/// Runs whose length the environment sets.
public enum Soak {
  /// Zero unless `SOAK_SECONDS` is set.
  public static let seconds = ProcessInfo.processInfo.environment["SOAK_SECONDS"].flatMap(Double.init) ?? 0
}
