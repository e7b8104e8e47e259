public import CompositeOperations
public import Foundation

/// What happened to jobs in this process, in the order in which it was stored. Of what other
/// processes did it tells nothing but that their jobs were taken over.
///
/// Switch on ``kind``; the other properties are what the events of some kinds carry:
///
/// ```swift
/// for await event in queue.events() {
///   switch event.kind {
///   case .dead, .held: report(event.jobID, event.error)
///   default: break
///   }
/// }
/// ```
public struct JobEvent: Sendable, CountedEvent {
  /// What can happen.
  ///
  /// More kinds may come: a `switch` over them needs a `default`.
  public struct Kind: Sendable, Hashable, CustomStringConvertible {
    /// A job was stored by this process.
    public static let enqueued = Kind(value: .enqueued)
    /// An attempt starts, numbered from 1: ``JobEvent/attempt``.
    public static let started = Kind(value: .started)
    /// The share of the work that is done has grown to ``JobEvent/fractionCompleted``: what the
    /// progress of the job's operation says, or ``JobContext/reportProgress(_:)``. Such an event
    /// has no ``JobEvent/jobKind``.
    public static let progress = Kind(value: .progress)
    /// A job was done.
    public static let done = Kind(value: .done)
    /// An attempt failed with ``JobEvent/error``; the next starts at ``JobEvent/nextAttempt``.
    public static let failed = Kind(value: .failed)
    /// A job put itself off until ``JobEvent/nextAttempt``.
    public static let snoozed = Kind(value: .snoozed)
    /// A job is dead: after its last attempt or too many crashes, with its prerequisite, or for
    /// want of a process that knows its kind. ``JobEvent/error`` says which.
    public static let dead = Kind(value: .dead)
    /// A job is held after its last attempt, which failed with ``JobEvent/error``.
    public static let held = Kind(value: .held)
    /// A job was cancelled: by this process, while it ran here, or with its prerequisite.
    public static let cancelled = Kind(value: .cancelled)
    /// A job waits again, for the queue was stopped or suspended; it costs no attempt.
    public static let returned = Kind(value: .returned)
    /// Jobs, the event's ``JobEvent/jobIDs``, were taken from a process that has ended, or was not
    /// heard of for the length of its lease. They wait again, but for those of which ``dead`` or
    /// ``cancelled`` is told right after.
    public static let rescued = Kind(value: .rescued)
    /// The operation of an attempt was cancelled, and has not ended for
    /// ``DurableQueue/Configuration/unresponsiveAfter``. Its slot is taken until it does.
    public static let unresponsive = Kind(value: .unresponsive)
    /// ``DurableQueue/stop(grace:givingUpAfter:)`` did not wait any longer for an attempt that does not end. The job is left
    /// to the lease of this process.
    public static let abandoned = Kind(value: .abandoned)
    /// What this process did of a job is not acknowledged: another was given it.
    public static let leaseLost = Kind(value: .leaseLost)
    /// There are jobs that are due, of ``JobEvent/jobKind``, which is not registered here. Told
    /// once for each such kind.
    public static let unknownKind = Kind(value: .unknownKind)
    /// The database did not do what the queue needs; the queue tries again. ``JobEvent/error`` is a
    /// ``DatabaseError``.
    ///
    /// While a server cannot be reached it is told once, until ``databaseBack``.
    public static let databaseFailed = Kind(value: .databaseFailed)
    /// The server can be reached again. What had ended meanwhile is written now.
    public static let databaseBack = Kind(value: .databaseBack)
    /// Claims take long on the server. Mostly that is because somebody keeps an old snapshot, as a backup or a long query does, and
    /// what was deleted or changed since cannot be cleared away: ``JobEvent/oldSnapshot`` says who. Told once a minute at most.
    public static let databaseSlow = Kind(value: .databaseSlow)

    /// The kind in a word, such as `enqueued`.
    public var description: String { value.rawValue }

    enum Value: String {
      case enqueued, started, progress, done, failed, snoozed, dead, held, cancelled, returned, rescued, leaseLost
      case unresponsive, abandoned, unknownKind, databaseFailed, databaseBack, databaseSlow
    }

    let value: Value
  }

  /// What the library itself switches on, without a `default`.
  enum Content {
    case enqueued(JobID, kind: String)
    case started(JobID, kind: String, attempt: Int)
    case progress(JobID, fraction: Double)
    case done(JobID, kind: String)
    case failed(JobID, kind: String, attempt: Int, error: any Error, nextAttempt: Date)
    case snoozed(JobID, kind: String, until: Date)
    case dead(JobID, kind: String, error: any Error)
    case held(JobID, kind: String, error: any Error)
    case cancelled(JobID, kind: String)
    case returned(JobID, kind: String)
    case rescued([JobID])
    case unresponsive(JobID, kind: String)
    case abandoned(JobID, kind: String)
    case leaseLost(JobID, kind: String)
    case unknownKind(String)
    case databaseFailed(DatabaseError)
    case databaseBack
    case databaseSlow(OldSnapshot?)
  }

  /// A snapshot of the database that somebody keeps.
  public struct OldSnapshot: Sendable, Hashable {
    /// How old it is.
    public let age: Duration
    /// The number of the server's process that keeps it.
    public let serverProcess: Int
  }

  let content: Content
  /// How many events the stream has dropped before this one, because they were not read in time.
  public package(set) var droppedCount = 0

  init(_ content: Content) { self.content = content }

  /// What happened.
  public var kind: Kind {
    switch content {
    case .enqueued: .enqueued
    case .started: .started
    case .progress: .progress
    case .done: .done
    case .failed: .failed
    case .snoozed: .snoozed
    case .dead: .dead
    case .held: .held
    case .cancelled: .cancelled
    case .returned: .returned
    case .rescued: .rescued
    case .unresponsive: .unresponsive
    case .abandoned: .abandoned
    case .leaseLost: .leaseLost
    case .unknownKind: .unknownKind
    case .databaseFailed: .databaseFailed
    case .databaseBack: .databaseBack
    case .databaseSlow: .databaseSlow
    }
  }
}

extension JobEvent {
  /// The job that it happened to; nil for ``Kind/rescued``, ``Kind/unknownKind`` and
  /// what the database did.
  public var jobID: JobID? {
    switch content {
    case .enqueued(let id, _), .started(let id, _, _), .progress(let id, _), .done(let id, _),
      .failed(let id, _, _, _, _),
      .snoozed(let id, _, _), .dead(let id, _, _), .held(let id, _, _), .cancelled(let id, _), .returned(let id, _),
      .unresponsive(let id, _), .abandoned(let id, _), .leaseLost(let id, _):
      id
    case .rescued, .unknownKind, .databaseFailed, .databaseBack, .databaseSlow: nil
    }
  }

  /// All jobs that it happened to: those of ``Kind/rescued``; for other kinds ``jobID``, if there
  /// is one.
  public var jobIDs: [JobID] {
    if case .rescued(let ids) = content { ids } else { jobID.map { [$0] } ?? [] }
  }

  /// The kind of the job; nil for ``Kind/progress``, ``Kind/rescued``, and what the database did.
  public var jobKind: String? {
    switch content {
    case .enqueued(_, let kind), .started(_, let kind, _), .done(_, let kind), .failed(_, let kind, _, _, _),
      .snoozed(_, let kind, _), .dead(_, let kind, _), .held(_, let kind, _), .cancelled(_, let kind),
      .returned(_, let kind), .unresponsive(_, let kind), .abandoned(_, let kind), .leaseLost(_, let kind),
      .unknownKind(let kind):
      kind
    case .progress, .rescued, .databaseFailed, .databaseBack, .databaseSlow: nil
    }
  }

  /// The number of the attempt, from 1, of ``Kind/started`` and ``Kind/failed``; nil for other
  /// kinds.
  public var attempt: Int? {
    switch content {
    case .started(_, _, let attempt), .failed(_, _, let attempt, _, _): attempt
    default: nil
    }
  }

  /// The share of the work that is done, from 0 to 1, of ``Kind/progress``; nil for other kinds.
  public var fractionCompleted: Double? {
    if case .progress(_, let fraction) = content { fraction } else { nil }
  }

  /// What the attempt failed with, of ``Kind/failed``; why the job is ``Kind/dead`` or
  /// ``Kind/held``; the ``DatabaseError`` of ``Kind/databaseFailed``; nil for other kinds.
  public var error: (any Error)? {
    switch content {
    case .failed(_, _, _, let error, _), .dead(_, _, let error), .held(_, _, let error): error
    case .databaseFailed(let error): error
    default: nil
    }
  }

  /// The oldest snapshot that somebody keeps, of ``Kind/databaseSlow``; nil for other kinds, and if nobody keeps one.
  public var oldSnapshot: OldSnapshot? {
    if case .databaseSlow(let snapshot) = content { snapshot } else { nil }
  }

  /// When the job runs again, of ``Kind/failed`` and ``Kind/snoozed``; nil for other kinds.
  public var nextAttempt: Date? {
    switch content {
    case .failed(_, _, _, _, let date), .snoozed(_, _, let date): date
    default: nil
    }
  }
}

extension JobEvent: CustomStringConvertible {
  /// What happened to which job, such as `started: job #7 (upload), attempt 2`.
  public var description: String {
    var details: [String] = []
    if let jobID { details.append("job \(jobID)" + (jobKind.map { " (\($0))" } ?? "")) }
    switch content {
    case .rescued(let ids): details.append("jobs \(ids.map(\.description).joined(separator: ", "))")
    case .unknownKind(let kind): details.append(kind)
    case .progress(_, let fraction): details.append("\(fraction)")
    case .databaseBack: return "\(kind)"
    case .databaseSlow(let snapshot?):
      details.append("server process \(snapshot.serverProcess) keeps a snapshot that is \(snapshot.age) old")
    case .databaseSlow(nil): details.append("nobody keeps an old snapshot")
    case .enqueued, .started, .done, .failed, .snoozed, .dead, .held, .cancelled, .returned, .unresponsive,
      .abandoned, .leaseLost, .databaseFailed:
      break
    }
    if let attempt { details.append("attempt \(attempt)") }
    if let error { details.append("\(error)") }
    if let nextAttempt { details.append("again at \(nextAttempt)") }
    return "\(kind): \(details.joined(separator: ", "))"
  }
}
