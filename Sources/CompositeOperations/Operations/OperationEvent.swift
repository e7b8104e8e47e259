public import Foundation

/// An event of an operation, received by its observers and event streams.
///
/// Switch on ``kind``, or read the property that an event of one kind carries:
///
/// ```swift
/// operation.addObserver { event in
///   if let fraction = event.fractionCompleted { show(fraction) }
///   if let outcome = event.outcome { log("\(outcome)") }
/// }
/// ```
///
/// For one operation the events come in this order: ``Kind/started``, unless it never runs; then
/// ``Kind/cancelled`` at most once, and any number of ``Kind/progress`` and ``Kind/childAdded``;
/// and ``Kind/settled``, exactly once and last. ``Kind/cancelled`` comes alone before
/// ``Kind/settled`` if the operation was cancelled before it started.
public struct OperationEvent: Sendable {
  /// The kind of an event.
  ///
  /// More kinds may come: a `switch` over them needs a `default`.
  public struct Kind: Sendable, Hashable, CustomStringConvertible {
    /// The operation starts. Comes before `main` runs, and not if it never runs.
    public static let started = Kind(value: .started)
    /// A `cancel()` took effect. Does not come if the operation settles itself as cancelled.
    public static let cancelled = Kind(value: .cancelled)
    /// The fraction of the operation that is done has grown to
    /// ``OperationEvent/fractionCompleted``, by at least a thousandth. A success causes no extra
    /// event for a fraction of 1.
    public static let progress = Kind(value: .progress)
    /// The operation is a composition and has a new ``OperationEvent/child``: these events come for
    /// all children of a parallel one when it starts, for those of a sequence and of `forEach` one
    /// by one.
    public static let childAdded = Kind(value: .childAdded)
    /// The operation has settled with ``OperationEvent/outcome``: its completion has run, and
    /// `isFinished` is true.
    public static let settled = Kind(value: .settled)

    /// The kind in a word, such as `childAdded`.
    public var description: String { value.rawValue }

    enum Value: String {
      case started, cancelled, progress, childAdded, settled, left
    }

    let value: Value
  }

  /// The cases that the library itself switches on, without a `default`.
  package enum Content {
    case started
    case cancelled
    case progress(Double)
    case childAdded(Operation)
    case settled(Outcome<any Sendable>)
    /// A composition stops waiting for an operation inside, which other code has started and which
    /// may still execute. Only what reports to telemetry sinks receives it.
    case left
  }

  package let content: Content
  /// How many events the stream dropped before this one, because they were not read in time. Always
  /// 0 in observers. See ``SettlingOperation/events(bufferingPolicy:)``.
  public package(set) var droppedCount = 0

  init(content: Content) {
    self.content = content
  }

  /// The kind of the event.
  public var kind: Kind {
    switch content {
    case .started: .started
    case .cancelled: .cancelled
    case .progress: .progress
    case .childAdded: .childAdded
    case .settled: .settled
    case .left: Kind(value: .left)
    }
  }

  /// The fraction of the operation that is done, of ``Kind/progress``; nil for other kinds. See
  /// ``SettlingOperation/fractionCompleted``.
  public var fractionCompleted: Double? {
    if case .progress(let fraction) = content { fraction } else { nil }
  }

  /// The new child, of ``Kind/childAdded``; nil for other kinds.
  public var child: Operation? {
    if case .childAdded(let child) = content { child } else { nil }
  }

  /// The outcome of the operation, of ``Kind/settled``; nil for other kinds.
  public var outcome: Outcome<any Sendable>? {
    if case .settled(let outcome) = content { outcome } else { nil }
  }
}

extension OperationEvent {
  /// An event of ``Kind/started``.
  package static var started: OperationEvent { OperationEvent(content: .started) }

  /// An event of ``Kind/cancelled``.
  package static var cancelled: OperationEvent { OperationEvent(content: .cancelled) }

  /// An event of ``Kind/progress``.
  package static func progress(_ fraction: Double) -> OperationEvent { OperationEvent(content: .progress(fraction)) }

  /// An event of ``Kind/childAdded``.
  package static func childAdded(_ child: Operation) -> OperationEvent { OperationEvent(content: .childAdded(child)) }

  /// An event of ``Kind/settled``.
  package static func settled(_ outcome: Outcome<any Sendable>) -> OperationEvent {
    OperationEvent(content: .settled(outcome))
  }

  /// An event of ``Content/left``.
  static var left: OperationEvent { OperationEvent(content: .left) }
}

extension OperationEvent: CustomStringConvertible {
  /// The event as text, such as `settled: success(7)`.
  public var description: String {
    switch content {
    case .started: "started"
    case .cancelled: "cancelled"
    case .progress(let fraction): "progress: \(fraction)"
    case .childAdded(let child): "child added: \(OperationError.describe(child))"
    case .settled(let outcome): "settled: \(outcome)"
    case .left: "left"
    }
  }
}
