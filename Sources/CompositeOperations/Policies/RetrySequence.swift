import Foundation

/// A sequence that makes attempts until one succeeds.
///
/// The composite succeeds with the value of the attempt that succeeds. If the last attempt fails,
/// too, the composite fails with the errors of all attempts. A cancelled attempt is not repeated:
/// the composite is then cancelled.
///
/// ```swift
/// CompositeOperation(sequence: RetrySequence(maxAttempts: 3) { attempt in Download(url) })
/// ```
///
/// The attempts follow each other without delays. ``retrying(_:clock:_:decide:)`` makes attempts by
/// a policy, with delays.
public struct RetrySequence: CompositeOperation.Sequence, Sendable {
  private let makeOperation: @Sendable (_ attempt: Int) throws -> Operation
  private let maxAttempts: Int
  private var attempts = 0

  /// Makes a sequence of attempts.
  ///
  /// - Parameters:
  ///   - maxAttempts: the maximum number of attempts, the first included. Traps unless it is
  ///     positive.
  ///   - makeOperation: makes a new operation for each attempt, numbered from 1. Called under the
  ///     same conditions as `nextOperation(after:)` of ``CompositeOperation/Sequence``. An error
  ///     that it throws ends the sequence and fails the composite.
  public init(maxAttempts: Int, _ makeOperation: @escaping @Sendable (_ attempt: Int) throws -> Operation) {
    require(
      maxAttempts >= 1,
      "RetrySequence was made with \(maxAttempts) attempts, so it could never run. Use at least 1.")
    self.maxAttempts = maxAttempts
    self.makeOperation = makeOperation
  }

  /// Returns the first attempt, or another attempt after a failure if one is left. Returns nil
  /// otherwise.
  public mutating func nextOperation(after previous: Operation?) throws -> Operation? {
    if let previous, previous.failure == nil || attempts >= maxAttempts { return nil }
    attempts += 1
    return try makeOperation(attempts)
  }
}

extension RetrySequence: SequenceOfAttempts {}
