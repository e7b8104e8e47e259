public import Foundation
import Synchronization

/// Something that a library of the package did, for the people who operate a program: for logs,
/// metrics and traces.
///
/// All libraries tell what they do by this one type. ``kind`` says what happened, ``subject``,
/// ``name`` and ``id`` say to what. The rest is nil where it means nothing or is not known.
///
/// An event that has a ``duration`` ends what the last ``Kind/started`` event of the same
/// ``library``, ``source`` and ``id`` began. Each start has at most one such end, and an end whose
/// start was not reported has no duration. So the starts without such an end are what executes.
public struct TelemetryEvent: Sendable {
  /// When it happened.
  public var time: Date
  /// How much attention it needs.
  public var level: Level
  /// What happened.
  public var kind: Kind
  /// The library that reports it, by the name of its module, such as `DurableOperations`.
  public var library: String
  /// Which manager, workflow or queue reports it, by its name; nil for operations.
  public var source: String?
  /// What things of this sort are called together: the type of the operation or managed task, the
  /// kind of job, the name of the task of a workflow. What metrics count by.
  public var subject: String
  /// What people call this one thing.
  public var name: String?
  /// The number of this one thing: of a job in its database, else in this process.
  public var id: Int64?
  /// The number of the composition or the workflow that it runs in.
  public var parentID: Int64?
  /// The number of the attempt, from 1.
  public var attempt: Int?
  /// How long it executed, of an event that ends what a start began.
  public var duration: Duration?
  /// What went wrong.
  public var error: (any Error)?

  /// Makes an event: to test a sink, or to report what a program does itself.
  ///
  /// - Parameters:
  ///   - kind: what happened.
  ///   - library: the module that reports it.
  ///   - subject: what things of this sort are called together. Of few different values.
  ///   - level: how much attention it needs.
  ///   - time: when it happened.
  public init(_ kind: Kind, library: String, subject: String, level: Level = .debug, time: Date = Date()) {
    self.time = time
    self.level = level
    self.kind = kind
    self.library = library
    self.subject = subject
  }

  private static let lastID = Atomic<Int64>(0)

  /// A number that nothing else in this process has been given here.
  package static func nextID() -> Int64 { lastID.wrappingAdd(1, ordering: .relaxed).newValue }
}

extension TelemetryEvent {
  /// What can happen.
  ///
  /// These are the kinds that several libraries report, or that call for action. A library has
  /// more, which are called as in its own events, such as `snoozed` of a job: compare their
  /// ``rawValue``.
  public struct Kind: RawRepresentable, Sendable, Hashable {
    /// The kind in a word, such as `started`.
    public let rawValue: String

    /// Makes a kind.
    ///
    /// - Parameter rawValue: the kind in a word.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Something was taken on, and waits: a job was enqueued, a task was added.
    public static let added = Kind(rawValue: "added")
    /// It begins to execute; of a job, a managed task and a workflow's task, an attempt does.
    public static let started = Kind(rawValue: "started")
    /// It has ended well.
    public static let succeeded = Kind(rawValue: "succeeded")
    /// It has ended with ``TelemetryEvent/error``.
    public static let failed = Kind(rawValue: "failed")
    /// It has ended because it was cancelled.
    public static let cancelled = Kind(rawValue: "cancelled")
    /// It will execute again: ``TelemetryEvent/error`` says why, if an attempt failed.
    public static let retrying = Kind(rawValue: "retrying")
    /// A job has used up its attempts, or cannot run, as ``TelemetryEvent/error`` says. It stays
    /// until it is retried or deleted.
    public static let dead = Kind(rawValue: "dead")
    /// A manager gave a task up without having executed it to its end: an interceptor discarded it,
    /// its handle was released before its start, or the manager was released, or had been stopped
    /// before the task was added.
    public static let dropped = Kind(rawValue: "dropped")
    /// It still executes, but its end will not be reported: the operation that reports it has
    /// ended, or a queue that was stopped gave up waiting for the job.
    public static let abandoned = Kind(rawValue: "abandoned")
  }

  /// How much attention an event needs.
  public enum Level: Int, Sendable, Comparable, CaseIterable {
    /// Each step of each thing.
    case debug
    /// What a person who follows the work wants to see: the ends of what was asked for.
    case info
    /// What went wrong, and is dealt with: by a further attempt, or by what it is a part of.
    case warning
    /// What went wrong for good.
    case error

    /// Whether one level needs less attention than another.
    public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
  }
}

extension TelemetryEvent: CustomStringConvertible {
  /// A line without the time, such as
  /// `error DurableOperations dead: upload 7, attempt 3, after 0.25 s: The server is away.`
  ///
  /// Made when it is asked for. Line ends in it are spaces, and nothing in it moves a cursor.
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
