#if os(macOS) || os(Linux)
/// How long to wait before the next attempt to connect: at most 50 ms, twice as much after each failure, up to 5 s. The whole of it
/// is left to chance, so that many processes do not come back at once.
struct PostgresBackoff: Sendable {
  private static let first = Duration.milliseconds(50)
  private static let last = Duration.seconds(5)
  /// At most this long is waited next.
  private(set) var limit = first

  mutating func next(using generator: inout some RandomNumberGenerator) -> Duration {
    defer { limit = min(limit * 2, Self.last) }
    return limit * Double.random(in: 0..<1, using: &generator)
  }

  /// An attempt has succeeded.
  mutating func reset() { limit = Self.first }
}
#endif
