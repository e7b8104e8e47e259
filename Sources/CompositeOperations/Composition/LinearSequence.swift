import Foundation

/// A sequence of fixed steps, each made from the operation before it.
///
/// A step that fails or is cancelled ends the sequence, and the composite with the same outcome.
/// The first step that returns nil ends it as a success. Each composite starts at the first step.
///
/// ```swift
/// CompositeOperation(sequence: LinearSequence(
///   { _ in FetchUser(id: 7) },
///   { previous in FetchPhotos(of: previous!.result(as: User.self)!) }))
/// ```
public struct LinearSequence: CompositeOperation.Sequence, Sendable {
  private let steps: [@Sendable (Operation?) throws -> Operation?]
  private var next = 0

  /// Makes a sequence of steps.
  ///
  /// - Parameter steps: each receives the operation of the step before (the first receives nil) and
  ///   returns its own. Called like `nextOperation(after:)` of ``CompositeOperation/Sequence``.
  public init(_ steps: (@Sendable (Operation?) throws -> Operation?)...) {
    self.init(steps: steps)
  }

  /// Makes a sequence of steps.
  ///
  /// - Parameter steps: as in ``init(_:)``.
  public init(steps: [@Sendable (Operation?) throws -> Operation?]) {
    self.steps = steps
  }

  /// The number of steps.
  public var expectedCount: Int? { steps.count }

  /// Returns the operation of the next step; nil after the last, or if `previous` did not succeed.
  public mutating func nextOperation(after previous: Operation?) throws -> Operation? {
    guard next < steps.count, previous == nil || previous?.anyOutcome?.value != nil else { return nil }
    defer { next += 1 }
    return try steps[next](previous)
  }
}
