public import Foundation

/// An error of the queue: a job cannot be enqueued, or has ended without success.
///
/// Switch on ``code``; ``description`` is a sentence that names the job, the cause and the remedy.
public struct JobError: Error, Sendable, Equatable {
  /// What went wrong.
  ///
  /// More codes may come: a `switch` over them needs a `default`.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The job cannot be encoded as JSON.
    public static let notEncodable = Code(value: .notEncodable)
    /// The job's stored form is larger than ``DurableQueue/Configuration/maxPayloadSize``.
    public static let payloadTooLarge = Code(value: .payloadTooLarge)
    /// Another job, ``JobError/otherJob``, has its unique key: it is not enqueued, or not retried.
    public static let duplicate = Code(value: .duplicate)
    /// A prerequisite, ``JobError/otherJob``, is not stored, or names no position of the call.
    public static let unknownPrerequisite = Code(value: .unknownPrerequisite)
    /// Jobs of one call wait for each other. The text of the error has their positions.
    public static let cycle = Code(value: .cycle)
    /// A job's prerequisite, ``JobError/otherJob``, is the job that it replaces, or waits for the
    /// job, or would once a job that was replaced while it executed has ended: none could ever run.
    public static let circularPrerequisite = Code(value: .circularPrerequisite)
    /// There is no such job.
    public static let unknownJob = Code(value: .unknownJob)
    /// The state of the job, ``JobError/state``, does not allow the call.
    public static let wrongState = Code(value: .wrongState)
    /// An attempt took longer than its timeout.
    public static let timedOut = Code(value: .timedOut)
    /// The operation of an attempt was cancelled, but the job was not.
    public static let operationCancelled = Code(value: .operationCancelled)
    /// The closure that makes the operation of an attempt returned an operation that has already
    /// run.
    public static let operationUsedBefore = Code(value: .operationUsedBefore)
    /// The stored form does not fit the registered type.
    public static let undecodable = Code(value: .undecodable)
    /// The stored form has a version that this process does not know.
    public static let newerVersion = Code(value: .newerVersion)
    /// Another process took the job, since this one did not renew its lease in time.
    public static let leaseLost = Code(value: .leaseLost)
    /// The context of an attempt was used after the attempt had ended.
    public static let attemptEnded = Code(value: .attemptEnded)
    /// Too many processes ended while they ran the job.
    public static let tooManyCrashes = Code(value: .tooManyCrashes)
    /// Too many processes were lost while they had claimed the job. The queue cannot tell whether
    /// the job is to blame. See ``DurableQueue/Configuration/maxLapses``.
    public static let tooManyLapses = Code(value: .tooManyLapses)
    /// No process registered the job's kind within the time that ``DurableQueue/UnknownKinds``
    /// allows.
    public static let unknownKind = Code(value: .unknownKind)
    /// A prerequisite, ``JobError/otherJob``, is dead, cancelled or deleted.
    public static let prerequisiteFailed = Code(value: .prerequisiteFailed)
    /// The options or the schedule of a periodic job, ``JobError/periodicJobName``, cannot be read
    /// here, for example since this machine does not know the time zone.
    public static let unreadablePeriodicJob = Code(value: .unreadablePeriodicJob)
    /// The kind is registered already.
    public static let registeredTwice = Code(value: .registeredTwice)
    /// The queue was called from inside of one of its own transactions, or from its log handler or
    /// a sink.
    public static let insideTransaction = Code(value: .insideTransaction)

    /// The code in a word, such as `notEncodable`.
    public var description: String { value.rawValue }

    enum Value: String {
      case notEncodable, payloadTooLarge, duplicate, unknownPrerequisite, cycle, circularPrerequisite, unknownJob,
        wrongState, timedOut, operationCancelled, operationUsedBefore, undecodable, newerVersion, leaseLost,
        attemptEnded, tooManyCrashes, tooManyLapses, unknownKind, prerequisiteFailed, unreadablePeriodicJob,
        registeredTwice, insideTransaction
    }

    let value: Value
  }

  /// The reasons over which the library itself switches, without a `default`.
  enum Reason: Equatable {
    case notEncodable
    case payloadTooLarge(size: Int, limit: Int)
    case duplicate(JobID)
    case unknownPrerequisite(JobID)
    case cycle([Int])
    case circularPrerequisite(JobID)
    case unknownJob
    case wrongState(JobState)
    case timedOut(Duration)
    case operationCancelled
    case operationUsedBefore
    case undecodable
    case newerVersion(stored: Int, known: Int)
    case leaseLost
    case attemptEnded
    case tooManyCrashes(Int)
    case tooManyLapses(Int)
    case unknownKind
    case prerequisiteFailed(JobID)
    case unreadablePeriodicJob(name: String)
    case registeredTwice
    case insideTransaction
  }

  let reason: Reason
  /// The job's number, if it has one.
  public let id: JobID?
  /// The job's kind, if it is known.
  public let kind: String?
  /// The text of the error behind this one.
  package let causeDescription: String?

  init(_ reason: Reason, id: JobID? = nil, kind: String? = nil, cause: (any Error)? = nil) {
    self.reason = reason
    self.id = id
    self.kind = kind
    causeDescription = cause.map { error in
      if case DecodingError.dataCorrupted(let context) = error { context.debugDescription } else { "\(error)" }
    }
  }
}

extension JobError {
  /// What went wrong.
  public var code: Code {
    switch reason {
    case .notEncodable: .notEncodable
    case .payloadTooLarge: .payloadTooLarge
    case .duplicate: .duplicate
    case .unknownPrerequisite: .unknownPrerequisite
    case .cycle: .cycle
    case .circularPrerequisite: .circularPrerequisite
    case .unknownJob: .unknownJob
    case .wrongState: .wrongState
    case .timedOut: .timedOut
    case .operationCancelled: .operationCancelled
    case .operationUsedBefore: .operationUsedBefore
    case .undecodable: .undecodable
    case .newerVersion: .newerVersion
    case .leaseLost: .leaseLost
    case .attemptEnded: .attemptEnded
    case .tooManyCrashes: .tooManyCrashes
    case .tooManyLapses: .tooManyLapses
    case .unknownKind: .unknownKind
    case .prerequisiteFailed: .prerequisiteFailed
    case .unreadablePeriodicJob: .unreadablePeriodicJob
    case .registeredTwice: .registeredTwice
    case .insideTransaction: .insideTransaction
    }
  }

  /// The job that has the unique key, for ``Code/duplicate``; the prerequisite, for
  /// ``Code/unknownPrerequisite``, ``Code/circularPrerequisite`` and ``Code/prerequisiteFailed``;
  /// nil for other codes.
  public var otherJob: JobID? {
    switch reason {
    case .duplicate(let id), .unknownPrerequisite(let id), .circularPrerequisite(let id), .prerequisiteFailed(let id):
      id
    default: nil
    }
  }

  /// The state of the job, for ``Code/wrongState``; nil for other codes.
  public var state: JobState? {
    if case .wrongState(let state) = reason { state } else { nil }
  }

  /// The name of the periodic job, for ``Code/unreadablePeriodicJob``; nil for other codes.
  public var periodicJobName: String? {
    if case .unreadablePeriodicJob(let name) = reason { name } else { nil }
  }
}

extension JobError: LocalizedError, CustomStringConvertible {
  private var job: String {
    switch (kind, id) {
    case (let kind?, let id?): "Job \(id) of the kind “\(kind)”"
    case (let kind?, nil): "A job of the kind “\(kind)”"
    case (nil, let id?): "Job \(id)"
    case (nil, nil): "The job"
    }
  }

  /// A sentence: what is wrong with which job, and what to do.
  public var description: String {
    let cause = causeDescription.map { " (\($0))" } ?? ""
    return switch reason {
    case .notEncodable:
      "\(job) cannot be stored, since it does not encode as JSON\(cause). Check its properties: the usual cause is a "
        + "Double that is not finite."
    case .payloadTooLarge(let size, let limit):
      "\(job) takes \(size) bytes as JSON, more than the limit of \(limit). Store large data in a file and its path "
        + "in the job, or raise maxPayloadSize."
    case .duplicate(let other) where id != nil:
      "\(job) will not run again: job \(other) has its unique key by now. Cancel or delete that one first, or leave this "
        + "one."
    case .duplicate(let other):
      "\(job) was not enqueued: job \(other) has the same unique key. Use whenTaken: .replace if the new one is to take "
        + "its place."
    case .unknownPrerequisite(let other):
      "\(job) depends on job \(other), which is not there: it was never enqueued, or was deleted, or was done and its "
        + "retention is over. Enqueue the two in one call, or keep done jobs for longer."
    case .cycle(let positions):
      "The jobs number \(positions.map(String.init).joined(separator: " → ")) of the same call wait for each other, so "
        + "none of them could ever run. Nothing was enqueued. Take one of the dependencies away."
    case .circularPrerequisite(let other):
      "\(job) depends on job \(other), which it replaces, or which waits for it, or would once a replaced job has ended: "
        + "neither could ever run. Nothing was enqueued. Take the dependency away, or use another unique key."
    case .unknownJob:
      "\(job) is not there: it was never enqueued, or was deleted, or was done and its retention is over. Check the number, "
        + "or keep done jobs for longer."
    case .wrongState(let state):
      "\(job) is \(state), which does not allow this. \(state.whatCanBeDone)"
    case .timedOut(let timeout):
      "An attempt of \(job.lowercasedFirst) took longer than its timeout of \(timeout). Look for what it waited for, or give "
        + "it more time in its options."
    case .operationCancelled:
      "The operation of \(job.lowercasedFirst) was cancelled by another part of the program, which counts as a failed "
        + "attempt. Use cancel(_:) of the queue to cancel a job."
    case .operationUsedBefore:
      "An attempt of \(job.lowercasedFirst) was given an operation that has run already, and an operation runs once. Make a "
        + "new one each time in the registered closure."
    case .undecodable:
      "The stored form of \(job.lowercasedFirst) does not fit the registered type\(cause). It is kept as dead. Raise the "
        + "type's version, register an upgrade, and retry the job."
    case .newerVersion(let stored, let known):
      "\(job) was stored by a newer program: its version is \(stored), this one knows up to \(known). It is left to newer "
        + "programs. Update this one."
    case .leaseLost:
      "\(job) was given to another process, since this one did not renew its lease in time. Its result here "
        + "is not stored. Raise leaseDuration if this process is often held up for so long."
    case .attemptEnded:
      "\(job) was not changed, because this attempt has ended: its operation finished, or suspend() returned the job. Use "
        + "a context only during its attempt."
    case .tooManyCrashes(let count):
      "\(job) is dead: \(count) processes ended while it ran in them. Look for what ends them, repair it, and retry the job."
    case .tooManyLapses(let count):
      "\(job) is dead: \(count) times the process that had claimed it was silent for longer than its lease: it stood "
        + "still, or the system ended or suspended it, as it does on phones. Call suspend() before the system suspends the "
        + "app, or raise leaseDuration or maxLapses, and retry the job."
    case .unknownKind:
      "\(job) is dead: it was due for longer than unknownKinds allows, and no process had registered its kind. Register it in "
        + "one, and retry the job."
    case .prerequisiteFailed(let other):
      "\(job) will not run, since its prerequisite \(other) is dead, cancelled or deleted. Retry that one first, then this one; "
        + "or enqueue both anew."
    case .unreadablePeriodicJob(let name):
      "The periodic job “\(name)” cannot be read\(cause). Schedule it anew under its name, or unschedule it."
    case .registeredTwice:
      "The kind “\(kind ?? "")” is registered already, with what its jobs do. Register each type once, with one kind for "
        + "each."
    case .insideTransaction:
      "The queue was called inside one of its own transactions, or from a log handler or sink, where the store's thread "
        + "waits: it would wait for itself. Use the argument of the closure, or there the await form in a Task."
    }
  }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}

extension JobState {
  fileprivate var whatCanBeDone: String {
    switch self {
    case .waiting, .scheduled, .blocked: "It can be held, cancelled or deleted."
    case .executing: "It can be cancelled; or wait until it has ended."
    case .held, .cancelled, .dead: "It can be retried or deleted."
    case .done: "It can be deleted; enqueue a new one to have it run again."
    }
  }
}

extension String {
  fileprivate var lowercasedFirst: String { prefix(1).lowercased() + dropFirst() }
}

/// An error that makes the job run again later, without costing an attempt: throw it, or fail the
/// operation with it.
///
/// An operation of this package that fails with nothing else, such as a composite of snoozing
/// operations, counts, too; the longest snooze wins.
///
/// ```swift
/// try queue.register(Poll.self) { job, context in
///   guard try await job.isReady() else { throw JobSnooze(for: .seconds(60)) }
///   …
/// }
/// ```
public struct JobSnooze: Error, Sendable, Hashable {
  /// How long the job waits.
  public let duration: Duration

  /// Makes a snooze.
  public init(for duration: Duration) {
    self.duration = duration
  }
}

/// An error that ends a job at once, when further attempts are of no use: throw it, or fail the
/// operation with it. The job is dead, or held.
///
/// It also counts inside the error of a composite, a workflow or another operation of this package.
public struct PermanentJobFailure: Error, Sendable {
  /// The reason.
  public let cause: any Error

  /// Makes the error from its reason.
  public init(_ cause: any Error) {
    self.cause = cause
  }
}

extension PermanentJobFailure: LocalizedError, CustomStringConvertible {
  /// The text of the reason.
  public var description: String {
    (cause as? any LocalizedError)?.errorDescription ?? String(describing: cause)
  }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
