/// What is stored of kinds, and holds for all processes.
struct KindRules: Equatable, Sendable {
  /// Nothing of them is claimed.
  var paused: Set<Int64> = []
  /// No more than so many jobs of them execute at once, wherever that is.
  var limited: Set<Int64> = []
}
