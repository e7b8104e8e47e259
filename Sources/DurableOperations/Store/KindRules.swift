/// The stored rules of kinds, which hold for all processes.
struct KindRules: Equatable, Sendable {
  /// The kinds of which nothing is claimed.
  var paused: Set<Int64> = []
  /// The maximum number of their jobs that execute at once, in all processes together.
  var limits: [Int64: Int] = [:]
}
