import Foundation

extension CompositeOperation {
  /// The delegate of a sequential composite, which chooses the next operation after each one.
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
  /// Each composite has its own copy of a delegate that is a value, so many composites can use one.
  /// A delegate that is an object is shared: give it to one composite only.
  ///
  /// The conformance cannot be isolated to an actor, because the composite calls the delegate where
  /// its children run. In code that is on the main actor by default, a delegate that uses something
  /// of the main actor does not compile.
  public protocol Sequence: SendableMetatype {
    /// Returns the operation that comes next, or nil if there is none.
    ///
    /// The composite calls this where its children run: in a slot of its queue (on the main thread
    /// for `OperationQueue.main`), else on a worker thread. One call at a time, and never inside a
    /// child's `finish()`.
    ///
    /// It is also called after a child failed or other code cancelled it, so that it can retry or
    /// fall back. When it returns nil the last operation decides: the composite succeeds if that
    /// did (or if there was none), with the values of all children that succeeded; fails if that
    /// failed, with every failure so far; and is cancelled if that was. It is not called after the
    /// composite was cancelled.
    ///
    /// - Parameter previous: the operation that has just finished; nil in the first call.
    /// - Returns: an operation that was not started, queued or returned before; any other fails the
    ///   composite.
    /// - Throws: an error fails the composite, which adds it to the failures so far.
    ///   `CancellationError` cancels it.
    mutating func nextOperation(after previous: Operation?) throws -> Operation?

    /// The total number of operations, finished ones included; nil if unknown.
    ///
    /// Used for progress only: it does not end the sequence. Read on the thread of
    /// `nextOperation(after:)`, after the first operation it returned and, once the progress of the
    /// composite was read or observed, after each further one; it may change. The default is nil,
    /// which makes the progress indeterminate.
    var expectedCount: Int? { get }
  }
}

extension CompositeOperation.Sequence {
  /// Nil: not known.
  public var expectedCount: Int? { nil }
}

/// A sequence whose operations are attempts of the same work.
protocol SequenceOfAttempts: CompositeOperation.Sequence {}
