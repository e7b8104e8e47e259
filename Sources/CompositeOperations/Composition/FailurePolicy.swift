/// What a parallel composite does when one of its children fails.
public enum FailurePolicy: Sendable, Equatable {
  /// Cancels the children that run and starts no further one; fails when all have finished.
  case cancelRemaining
  /// Lets the other children finish; the composite then fails with every failure.
  case waitForAll
}
