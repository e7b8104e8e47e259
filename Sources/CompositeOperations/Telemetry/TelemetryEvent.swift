public import Foundation
import Synchronization

/// A report of one step of an operation, a task or a job, for logs, metrics and traces.
///
/// All libraries report their work with this type. ``kind`` says what happened; ``subject``,
/// ``name`` and ``id`` identify the operation, task or job. Properties that have no meaning for an
/// event, or are not known, are nil.
///
/// An event with a ``duration`` ends the execution that began with the last ``Kind/started`` event
/// of the same ``library``, ``source`` and ``id``. Each execution has at most one such end. If the
/// start of an execution was not reported, its end has no duration. So the executions of this
/// moment are those with a reported start and without such an end.
public struct TelemetryEvent: Sendable {
  /// The time of the event.
  public var time: Date
  /// How much attention the event needs.
  public var level: Level
  /// What happened.
  public var kind: Kind
  /// The library that reports the event, by the name of its module, such as `DurableOperations`.
  public var library: String
  /// The name of the manager, workflow or queue that reports the event; nil for operations.
  public var source: String?
  /// The group that metrics count the event in: the type of the operation or managed task, the kind
  /// of the job, or the name of the task of a workflow.
  public var subject: String
  /// The name of this one operation, task or job.
  public var name: String?
  /// The number of this one operation, task or job. A job has its number in the database.
  /// Operations and tasks have numbers in this process.
  public var id: Int64?
  /// The number of the composition or the workflow around the operation or task.
  public var parentID: Int64?
  /// The number of the attempt, from 1.
  public var attempt: Int?
  /// How long the execution took, if the event ends an execution.
  public var duration: Duration?
  /// The error of a failure.
  public var error: (any Error)?

  /// Makes an event: to test a sink, or to report the work of your own program.
  ///
  /// - Parameters:
  ///   - kind: what happened.
  ///   - library: the module that reports the event.
  ///   - subject: the group that metrics count the event in. A program should have few subjects.
  ///   - level: how much attention the event needs.
  ///   - time: the time of the event.
  public init(_ kind: Kind, library: String, subject: String, level: Level = .debug, time: Date = Date()) {
    self.time = time
    self.level = level
    self.kind = kind
    self.library = library
    self.subject = subject
  }

  private static let lastID = Atomic<Int64>(0)

  /// Returns a number that is unique in this process.
  package static func nextID() -> Int64 { lastID.wrappingAdd(1, ordering: .relaxed).newValue }
}

extension TelemetryEvent {
  /// The kind of an event.
  ///
  /// These are the kinds that several libraries report, or that a person must act on. A library may
  /// report further kinds, such as `snoozed` for a job. They have the names that the library's own
  /// events have: compare their ``rawValue``.
  public struct Kind: RawRepresentable, Sendable, Hashable {
    /// The kind in a word, such as `started`.
    public let rawValue: String

    /// Makes a kind.
    ///
    /// - Parameter rawValue: the kind in a word.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A job was enqueued, or a task was added. It waits.
    public static let added = Kind(rawValue: "added")
    /// It begins to execute. A job, a managed task and a task of a workflow begin an attempt.
    public static let started = Kind(rawValue: "started")
    /// It has succeeded.
    public static let succeeded = Kind(rawValue: "succeeded")
    /// It has failed with ``TelemetryEvent/error``.
    public static let failed = Kind(rawValue: "failed")
    /// It was cancelled, and has ended.
    public static let cancelled = Kind(rawValue: "cancelled")
    /// It will execute again. If an attempt failed, ``TelemetryEvent/error`` is the reason.
    public static let retrying = Kind(rawValue: "retrying")
    /// A job has used up its attempts, or cannot run; ``TelemetryEvent/error`` is the reason. It
    /// stays stored until a person retries or deletes it.
    public static let dead = Kind(rawValue: "dead")
    /// A manager will not execute a task to its end. Either an interceptor discarded the task, or
    /// its handle was released before its start, or the manager was released, or the manager was
    /// stopped before the task was added.
    public static let dropped = Kind(rawValue: "dropped")
    /// It still executes, but its end will not be reported. Either the operation that reports it
    /// has ended, or no composition waits any longer for an operation that other code has started,
    /// or a queue that was stopped no longer waits for the job.
    public static let abandoned = Kind(rawValue: "abandoned")
  }

  /// How much attention an event needs.
  public enum Level: Int, Sendable, Comparable, CaseIterable {
    /// Each step of each operation, task and job.
    case debug
    /// The ends of the work that the program asked for.
    case info
    /// A failure that the program handles: by another attempt, or in the composition around it.
    case warning
    /// A final failure.
    case error

    /// Whether one level needs less attention than another.
    public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
  }
}

extension TelemetryEvent: CustomStringConvertible {
  /// A line without the time, such as
  /// `error DurableOperations dead: upload 7, attempt 3, after 0.25 s: The server is away.`
  ///
  /// Made when it is read. It contains no line ends and no control characters.
  public var description: String {
    var line = "\(level) \(library)"
    if let source { line += " (\(ErrorReport.shortened(source)))" }
    line += " \(kind.rawValue): \(ErrorReport.shortened(subject))"
    if let id { line += " \(id)" }
    if let name, name != subject { line += " \(ErrorReport.quoted(name))" }
    if let parentID { line += " in \(parentID)" }
    if let attempt { line += ", attempt \(attempt)" }
    if let duration { line += ", after \(duration / .seconds(1)) s" }
    if let error { line += ": \(OperationError.describe(error))" }
    return HarmlessText.line(line)
  }
}
