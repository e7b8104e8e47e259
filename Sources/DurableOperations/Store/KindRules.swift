/// What is stored of kinds, and holds for all processes.
struct KindRules: Equatable, Sendable {
  /// Nothing of them is claimed.
  var paused: Set<Int64> = []
  /// How many of their jobs execute at once, at most, in all processes together.
  var limits: [Int64: Int] = [:]
}
