public import CompositeOperations
public import Foundation

/// How a job runs.
public struct JobOptions: Sendable, Hashable, Codable {
  /// Which job runs first. Of jobs with the same priority, the one with fewer attempts does, then
  /// the one that was enqueued first.
  public var priority: JobPriority
  /// When the job may run for the first time.
  public var start: JobStart
  /// How many attempts a job has before it is dead, or held; nil for no limit. At least 1.
  public var maxAttempts: Int?
  /// How long to wait before each further attempt; nil for ``DurableQueue/Configuration/backoff``.
  ///
  /// The maximum is a day and the jitter is full, unless the backoff names others. The job keeps
  /// the backoff in whole milliseconds: a fraction counts as a whole one, and this property already
  /// reads so; a maximum of a day and full jitter read as not named.
  public var backoff: Backoff? {
    didSet { backoff = backoff?.keptWithJobs }
  }
  /// How long an attempt may take; nil for no limit. The queue then cancels its operation, and once
  /// that has ended, the attempt has failed with ``JobError/Code/timedOut``.
  public var timeout: Duration?
  /// Whether the job runs only while ``DurableQueue/Configuration/networkMonitor`` reports a
  /// network.
  public var requiresNetwork: Bool
  /// A key that no other job of the same kind may have at the same time; nil for none.
  public var uniqueKey: UniqueKey?
  /// The jobs that must be done before this one runs: numbers of stored jobs, or
  /// ``JobID/inSameCall(_:)``.
  public var dependsOn: [JobID]
  /// What happens to this job if a prerequisite is dead, cancelled or deleted.
  public var whenPrerequisiteFails: PrerequisiteFailure
  /// Whether the job is held instead of dead after its last attempt.
  public var holdsAfterLastAttempt: Bool
  /// Whether the job is held from the beginning, until the program retries it.
  public var startsHeld: Bool

  /// Makes options. The defaults are: normal priority, at once, 20 attempts, the queue's backoff,
  /// no timeout.
  ///
  /// Traps if `maxAttempts` is below 1, or `timeout` is not positive.
  public init(
    priority: JobPriority = .normal, start: JobStart = .atOnce, maxAttempts: Int? = 20, backoff: Backoff? = nil,
    timeout: Duration? = nil, requiresNetwork: Bool = false, uniqueKey: UniqueKey? = nil, dependsOn: [JobID] = [],
    whenPrerequisiteFails: PrerequisiteFailure = .wait, holdsAfterLastAttempt: Bool = false, startsHeld: Bool = false
  ) {
    self.priority = priority
    self.start = start
    self.maxAttempts = maxAttempts
    self.backoff = backoff?.keptWithJobs
    self.timeout = timeout
    self.requiresNetwork = requiresNetwork
    self.uniqueKey = uniqueKey
    self.dependsOn = dependsOn
    self.whenPrerequisiteFails = whenPrerequisiteFails
    self.holdsAfterLastAttempt = holdsAfterLastAttempt
    self.startsHeld = startsHeld
    check()
  }

  func check() {
    require(
      maxAttempts ?? 1 >= 1,
      "JobOptions.maxAttempts is \(maxAttempts ?? 0). Use 1 or more, or nil for as many as it takes.")
    require(
      timeout ?? .seconds(1) > .zero, "JobOptions.timeout is \(timeout ?? .zero). Use a positive duration, or nil.")
  }
}

/// The rank of a job: the larger major level runs first, and at equal major levels the larger minor
/// level.
///
/// The figures are ZLTaskManager's.
public struct JobPriority: Sendable, Hashable, Comparable, Codable {
  /// Compared first.
  public var major: Int
  /// Compared where the major levels are equal.
  public var minor: Int

  /// Makes a priority.
  public init(major: Int = 10, minor: Int = 10) {
    self.major = major
    self.minor = minor
  }

  /// Runs before all work for which no user waits.
  public static let userInitiated = JobPriority(major: 100_000_000)
  /// The default: 10 and 10.
  public static let normal = JobPriority()
  /// Runs after the others.
  public static let low = JobPriority(major: 0)

  /// Whether a job with the left priority runs after one with the right.
  public static func < (left: JobPriority, right: JobPriority) -> Bool {
    (left.major, left.minor) < (right.major, right.minor)
  }
}

/// When a job may run for the first time.
public enum JobStart: Sendable, Hashable, Codable {
  /// As soon as there is room.
  case atOnce
  /// After this delay. Setting the clock does not change it.
  case after(Duration)
  /// When the system's clock, or the server's, shows this date.
  case at(Date)
}

/// A key that only one job of a kind may have while it is in certain states.
public struct UniqueKey: Sendable, Hashable, Codable {
  /// What happens to a new job whose key is taken.
  public struct Conflict: RawRepresentable, Sendable, Hashable, Codable {
    /// The new job is not enqueued: the call throws ``JobError/Code/duplicate``, and
    /// ``JobError/otherJob`` is the job that has the key.
    public static let reject = Conflict(value: .reject)
    /// The new job takes the place, the number and the dependents of the job that has the key. Its
    /// attempts start at zero, and it waits only for its own prerequisites.
    ///
    /// If the other job executes, the new one is stored beside it and runs after it. If the other
    /// job fails, it is not tried again, but cancelled; if the queue stops or its process ends, it
    /// runs again first. If it is not done, whatever ends it, its dependents wait for the new job.
    public static let replace = Conflict(value: .replace)

    /// The choice with a name; nil for an unknown one.
    public init?(rawValue: String) {
      guard let value = Value(rawValue: rawValue) else { return nil }
      self.init(value: value)
    }

    private init(value: Value) {
      self.value = value
    }

    /// The name of the choice, such as `reject`.
    public var rawValue: String { value.rawValue }

    enum Value: String { case reject, replace }

    let value: Value
  }

  package var value: String
  package var conflict: Conflict
  package var states: Set<JobState>

  /// Makes a key.
  ///
  /// - Parameters:
  ///   - value: the key.
  ///   - conflict: what happens if another job has the key.
  ///   - states: the states of other jobs in which their key counts. By default all states in which
  ///     a job can still run.
  public init(
    _ value: String, whenTaken conflict: Conflict = .reject,
    by states: Set<JobState> = [.waiting, .scheduled, .blocked, .executing, .held]
  ) {
    self.value = value
    self.conflict = conflict
    self.states = states
  }
}

/// What happens to a job when one of its prerequisites has died or was cancelled or deleted.
public struct PrerequisiteFailure: RawRepresentable, Sendable, Hashable, Codable {
  /// The job stays blocked until the prerequisite is retried and done. If the prerequisite is
  /// deleted, the job is cancelled.
  public static let wait = PrerequisiteFailure(value: .wait)
  /// The job is cancelled, too.
  public static let cancel = PrerequisiteFailure(value: .cancel)
  /// The job is dead, too.
  public static let die = PrerequisiteFailure(value: .die)
  /// The job runs all the same.
  public static let run = PrerequisiteFailure(value: .run)

  enum Value: Int { case wait = 0, cancel, die, run }

  let value: Value
}

extension PrerequisiteFailure {
  /// The choice that is stored as a number; nil for an unknown one.
  public init?(rawValue: Int) {
    guard let value = Value(rawValue: rawValue) else { return nil }
    self.init(value: value)
  }

  /// The number as which the choice is stored.
  public var rawValue: Int { value.rawValue }
}
