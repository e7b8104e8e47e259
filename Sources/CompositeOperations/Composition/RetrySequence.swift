import Foundation

/// A sequence that makes attempts until one succeeds.
///
/// The composite succeeds with the value of the attempt that did. If the last one fails too, it fails with the errors
/// of all. A cancelled attempt is not repeated: the composite is cancelled.
///
/// ```swift
/// CompositeOperation(sequence: RetrySequence(maxAttempts: 3) { attempt in Download(url) })
/// ```
public struct RetrySequence: CompositeOperation.Sequence, Sendable {
  private let maxAttempts: Int
  private let makeOperation: @Sendable (_ attempt: Int) throws -> Operation
  private var attempts = 0

  /// Makes a sequence of attempts.
  ///
  /// - Parameters:
  ///   - maxAttempts: how many attempts there are at most, the first included. Must be at least 1; else this traps.
  ///   - makeOperation: makes a new operation for each attempt, numbered from 1. Called as `nextOperation(after:)` of
  ///     ``CompositeOperation/Sequence`` is. What it throws ends the sequence and fails the composite.
  public init(maxAttempts: Int, _ makeOperation: @escaping @Sendable (_ attempt: Int) throws -> Operation) {
    require(
      maxAttempts >= 1,
      "RetrySequence was made with \(maxAttempts) attempts, so it could never run. Use at least 1.")
    self.maxAttempts = maxAttempts
    self.makeOperation = makeOperation
  }

  /// Returns the next attempt if there was none yet, or the last one failed and there is one left; else nil.
  public mutating func nextOperation(after previous: Operation?) throws -> Operation? {
    guard attempts < maxAttempts, previous == nil || previous?.failure != nil else { return nil }
    attempts += 1
    return try makeOperation(attempts)
  }
}
