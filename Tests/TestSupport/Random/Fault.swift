import Foundation

/// Something bad that lasts for a while, and is over then. Nobody waits for anything with it.
public enum Fault {
  /// Returns after a random time.
  public static func lasts(_ milliseconds: ClosedRange<Int32>, using generator: inout some RandomNumberGenerator) {
    poll(nil, 0, .random(in: milliseconds, using: &generator))
  }
}

/// Runs that go on for as long as the environment says.
public enum Soak {
  /// Zero unless `SOAK_SECONDS` is set.
  public static let seconds = ProcessInfo.processInfo.environment["SOAK_SECONDS"].flatMap(Double.init) ?? 0
}
