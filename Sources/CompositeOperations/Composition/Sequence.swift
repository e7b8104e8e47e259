import Foundation

extension CompositeOperation {
  /// The delegate of a sequential composite: decides, after each operation, which one comes next.
  ///
  /// ```swift
  /// struct Upload: CompositeOperation.Sequence {
  ///   let photo: URL
  ///   mutating func nextOperation(after previous: Operation?) throws -> Operation? {
  ///     switch previous {
  ///     case nil: Compress(photo)
  ///     case let compress as Compress: compress.result.map { Send($0) }
  ///     default: nil
  ///     }
  ///   }
  /// }
  /// ```
  ///
  /// Make it a value, and each composite has its own copy, so that one delegate can be used for many composites. A
  /// delegate that is an object is shared, and should be given to one.
  public protocol Sequence {
    /// Returns the operation that comes next, or nil if there is none.
    ///
    /// Called by the composite where its children run: in a slot of its queue (on the main thread for
    /// `OperationQueue.main`), else on a worker thread. One call at a time, never from inside somebody's `finish()`.
    ///
    /// It is called after failures and outside cancellations too, which is how retries and fallbacks are made. When it
    /// returns nil the last operation decides: the composite succeeds if it did (or if there was none), with the values
    /// of all children that succeeded; fails if it failed, with every failure so far; and is cancelled if it was. After
    /// the composite was cancelled it is no longer called.
    ///
    /// - Parameter previous: the operation that has just finished; nil in the first call.
    /// - Returns: an operation that nobody has started, queued or returned before; anything else fails the composite.
    /// - Throws: an error fails the composite, which adds it to the failures so far. `CancellationError` cancels it.
    mutating func nextOperation(after previous: Operation?) throws -> Operation?

    /// How many operations there will be in all, those that have finished included; nil if that is not known.
    ///
    /// For progress only: it ends nothing. Asked on the same thread as `nextOperation(after:)`, after the first operation
    /// that it returned and, once somebody has asked for the progress, after each further one; it may have changed then.
    /// The default is nil, which makes the progress of the composite indeterminate.
    var expectedCount: Int? { get }
  }
}

extension CompositeOperation.Sequence {
  /// Nil: not known.
  public var expectedCount: Int? { nil }
}

/// A sequence whose operations are attempts at the same work.
protocol SequenceOfAttempts: CompositeOperation.Sequence {}
