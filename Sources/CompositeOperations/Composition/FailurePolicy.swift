/// What a parallel composite does when one of its children fails.
public enum FailurePolicy: Sendable, Equatable {
  /// No further child starts, and those that run are cancelled. The composite fails when all have finished.
  case cancelRemaining
  /// The other children run to their end; the composite then fails with every failure.
  case waitForAll
}
