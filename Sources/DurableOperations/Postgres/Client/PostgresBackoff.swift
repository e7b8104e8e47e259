#if os(macOS) || os(Linux)
/// The delay before the next attempt to connect: at most 50 ms, doubled after each failure, up to 5
/// s. The whole delay is random, so that many processes do not return at once.
struct PostgresBackoff: Sendable {
  private static let first = Duration.milliseconds(50)
  private static let last = Duration.seconds(5)
  /// The maximum of the next delay.
  private(set) var limit = first

  mutating func next(using generator: inout some RandomNumberGenerator) -> Duration {
    defer { limit = min(limit * 2, Self.last) }
    return limit * Double.random(in: 0..<1, using: &generator)
  }

  /// Notes that an attempt has succeeded.
  mutating func reset() { limit = Self.first }
}
#endif
