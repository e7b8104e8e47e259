public import CompositeOperations
public import Foundation

/// Something that happened to jobs in this process, in the order of the store. Of other processes
/// it reports only that their jobs were taken over.
///
/// Switch on ``kind``; the other properties belong to some kinds:
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
  /// What happened.
  ///
  /// More kinds may come: a `switch` over them needs a `default`.
  public struct Kind: Sendable, Hashable, CustomStringConvertible {
    /// This process stored a job.
    public static let enqueued = Kind(value: .enqueued)
    /// An attempt starts, numbered from 1: ``JobEvent/attempt``.
    public static let started = Kind(value: .started)
    /// The completed share of the work has grown to ``JobEvent/fractionCompleted``: by the progress
    /// of the job's operation, or by ``JobContext/reportProgress(_:)``. Such an event has no
    /// ``JobEvent/jobKind``.
    public static let progress = Kind(value: .progress)
    /// A job was done.
    public static let done = Kind(value: .done)
    /// An attempt failed with ``JobEvent/error``; the next starts at ``JobEvent/nextAttempt``.
    public static let failed = Kind(value: .failed)
    /// A job snoozed until ``JobEvent/nextAttempt``.
    public static let snoozed = Kind(value: .snoozed)
    /// A job is dead: after its last attempt or too many crashes, with its prerequisite, or since
    /// no process knows its kind. ``JobEvent/error`` tells why.
    public static let dead = Kind(value: .dead)
    /// A job is held after its last attempt, which failed with ``JobEvent/error``.
    public static let held = Kind(value: .held)
    /// A job was cancelled: by this process, while it ran here, or with its prerequisite.
    public static let cancelled = Kind(value: .cancelled)
    /// A job waits again, since the queue was stopped or suspended; this costs no attempt.
    public static let returned = Kind(value: .returned)
    /// This process took the jobs ``JobEvent/jobIDs`` from a process that has ended, or was silent
    /// for longer than its lease. The jobs wait again, unless a ``dead`` or ``cancelled`` event
    /// follows at once.
    public static let rescued = Kind(value: .rescued)
    /// The operation of an attempt was cancelled, but has not ended within
    /// ``DurableQueue/Configuration/unresponsiveAfter``. It keeps its slot until it ends.
    public static let unresponsive = Kind(value: .unresponsive)
    /// ``DurableQueue/stop(grace:givingUpAfter:)`` gave up waiting for an attempt, and no other
    /// call waits. Another process takes the job when the lease of this one is over, unless this
    /// queue is started or stopped again before. Reported once for each attempt.
    public static let abandoned = Kind(value: .abandoned)
    /// ``DurableQueue/stop(grace:givingUpAfter:)`` gave up writing what became of the jobs
    /// ``JobEvent/jobIDs``: the database failed with ``JobEvent/error``. They run again, as after a
    /// crash of this process, unless this queue is started or stopped again before and can write
    /// it.
    public static let unwritten = Kind(value: .unwritten)
    /// The store refused the result of a job: another process has taken the job.
    public static let leaseLost = Kind(value: .leaseLost)
    /// Jobs of a kind, ``JobEvent/jobKind``, are due that this process has not registered. Reported
    /// once for each kind.
    public static let unknownKind = Kind(value: .unknownKind)
    /// The database failed; the queue tries again. ``JobEvent/error`` is a ``DatabaseError``.
    ///
    /// For an unreachable server this is reported once, until ``databaseBack``. Other failures are
    /// reported each time; ``DurableQueue/Configuration/logHandler`` is told of the first with each
    /// code, until ``databaseBack``.
    public static let databaseFailed = Kind(value: .databaseFailed)
    /// The server can be reached again, or all goes well again that failed before. The queue now
    /// stores what ended in the meantime.
    public static let databaseBack = Kind(value: .databaseBack)
    /// Claims take long on the server. Reported at most once a minute.
    ///
    /// Mostly a client holds an old snapshot, as a backup or a long query does, so that the server
    /// cannot remove the rows that were deleted or changed since. The text of the event names the
    /// process of the server that works for the client.
    public static let databaseSlow = Kind(value: .databaseSlow)

    /// The kind in a word, such as `enqueued`.
    public var description: String { value.rawValue }

    enum Value: String {
      case enqueued, started, progress, done, failed, snoozed, dead, held, cancelled, returned, rescued, leaseLost
      case unresponsive, abandoned, unwritten, unknownKind, databaseFailed, databaseBack, databaseSlow
    }

    let value: Value
  }

  /// The events over which the library itself switches, without a `default`.
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
    case unwritten([JobID], error: DatabaseError)
    case leaseLost(JobID, kind: String)
    case unknownKind(String)
    case databaseFailed(DatabaseError)
    case databaseBack
    case databaseSlow(OldSnapshot?)
  }

  /// A snapshot of the database that a client holds.
  package struct OldSnapshot: Sendable, Hashable {
    /// The age of the snapshot; nil if the role of the queue may not see what the sessions of
    /// another role do, as without the rights of `pg_read_all_stats`.
    package let age: Duration?
    /// The number of the server process that holds it.
    package let serverProcess: Int
  }

  let content: Content
  /// How many events the stream dropped before this one, because the program did not read them in
  /// time.
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
    case .unwritten: .unwritten
    case .leaseLost: .leaseLost
    case .unknownKind: .unknownKind
    case .databaseFailed: .databaseFailed
    case .databaseBack: .databaseBack
    case .databaseSlow: .databaseSlow
    }
  }
}

extension JobEvent {
  /// The job; nil for ``Kind/rescued``, ``Kind/unwritten``, ``Kind/unknownKind`` and the
  /// events of the database.
  public var jobID: JobID? {
    switch content {
    case .enqueued(let id, _), .started(let id, _, _), .progress(let id, _), .done(let id, _),
      .failed(let id, _, _, _, _),
      .snoozed(let id, _, _), .dead(let id, _, _), .held(let id, _, _), .cancelled(let id, _), .returned(let id, _),
      .unresponsive(let id, _), .abandoned(let id, _), .leaseLost(let id, _):
      id
    case .rescued, .unwritten, .unknownKind, .databaseFailed, .databaseBack, .databaseSlow: nil
    }
  }

  /// All jobs of the event: those of ``Kind/rescued`` and ``Kind/unwritten``; for other kinds
  /// ``jobID``, if there is one.
  public var jobIDs: [JobID] {
    switch content {
    case .rescued(let ids), .unwritten(let ids, _): ids
    default: jobID.map { [$0] } ?? []
    }
  }

  /// The kind of the job; nil for ``Kind/progress``, ``Kind/rescued``, ``Kind/unwritten`` and the
  /// events of the database.
  public var jobKind: String? {
    switch content {
    case .enqueued(_, let kind), .started(_, let kind, _), .done(_, let kind), .failed(_, let kind, _, _, _),
      .snoozed(_, let kind, _), .dead(_, let kind, _), .held(_, let kind, _), .cancelled(_, let kind),
      .returned(_, let kind), .unresponsive(_, let kind), .abandoned(_, let kind), .leaseLost(_, let kind),
      .unknownKind(let kind):
      kind
    case .progress, .rescued, .unwritten, .databaseFailed, .databaseBack, .databaseSlow: nil
    }
  }

  /// The number of the attempt, from 1, for ``Kind/started`` and ``Kind/failed``; nil for other
  /// kinds.
  public var attempt: Int? {
    switch content {
    case .started(_, _, let attempt), .failed(_, _, let attempt, _, _): attempt
    default: nil
    }
  }

  /// The completed share of the work, from 0 to 1, for ``Kind/progress``; nil for other kinds.
  public var fractionCompleted: Double? {
    if case .progress(_, let fraction) = content { fraction } else { nil }
  }

  /// The error of the attempt, for ``Kind/failed``; why the job is ``Kind/dead`` or ``Kind/held``;
  /// the ``DatabaseError`` of ``Kind/databaseFailed`` and ``Kind/unwritten``; nil for other kinds.
  public var error: (any Error)? {
    switch content {
    case .failed(_, _, _, let error, _), .dead(_, _, let error), .held(_, _, let error): error
    case .databaseFailed(let error), .unwritten(_, let error): error
    default: nil
    }
  }

  /// When the job runs again, for ``Kind/failed`` and ``Kind/snoozed``; nil for other kinds.
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
    case .unwritten(let ids, _):
      details.append(
        ids.count == 1
          ? "job \(ids[0]) runs again" : "\(ids.count) jobs run again, \(ids.map(\.description).joined(separator: " "))"
      )
    case .unknownKind(let kind): details.append(kind)
    case .progress(_, let fraction): details.append("\(fraction)")
    case .databaseBack: return "\(kind)"
    case .databaseSlow(let snapshot?):
      let age = snapshot.age.map { "a snapshot that is \($0) old" } ?? "an old snapshot"
      details.append("server process \(snapshot.serverProcess) holds \(age)")
    case .databaseSlow(nil): details.append("no client holds an old snapshot")
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
