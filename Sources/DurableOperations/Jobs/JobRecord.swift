public import Foundation

/// A snapshot of a job as it is stored.
public struct JobRecord: Sendable, Hashable, Identifiable {
  /// The job's number.
  public let id: JobID
  /// Its kind.
  public let kind: String
  /// Its state.
  public let state: JobState
  /// Its priority.
  public let priority: JobPriority
  /// How many attempts counted: those that failed, and the one that succeeded.
  public let attempts: Int
  /// How many attempts it has; nil for no limit.
  public let maxAttempts: Int?
  /// How many processes in a row ended while they ran it. An attempt that ends resets the count.
  public let crashes: Int
  /// How many processes in a row were lost while they had claimed it, so that the queue cannot tell
  /// whether the job is to blame. They were silent for longer than their lease, or, on iOS, tvOS,
  /// watchOS and visionOS, ended. An attempt that ends resets the count.
  public let lapses: Int
  /// The error of the last attempt that failed, or the reason why it is dead, cancelled or held;
  /// nil if there is none.
  public let lastError: String?
  /// The errors of its last 20 failed attempts, oldest first.
  public let failures: [Failure]
  /// When it was enqueued.
  public let enqueuedAt: Date
  /// When it may run, or could run for the first time: the time of a scheduled job, when it was
  /// retried, or when its prerequisites were done. Nil for at once.
  public let runAt: Date?
  /// When its last attempt started; nil if none has.
  public let startedAt: Date?
  /// When it was done, dead or cancelled; nil otherwise.
  public let finishedAt: Date?
  /// Whether it needs a network.
  public let requiresNetwork: Bool
  /// How long an attempt may take.
  public let timeout: Duration?
  /// Its unique key, if it has one.
  public let uniqueKey: String?
  /// How many of its prerequisites are not done.
  package let unmetPrerequisites: Int
  /// The prerequisites that are not done, in the order of their numbers.
  public let prerequisites: [JobID]
  /// Whether it executes and was asked to end.
  public let isCancelRequested: Bool
  /// Whether it is held instead of dead after its last attempt.
  public let holdsAfterLastAttempt: Bool
  /// How many bytes `checkpoint` of ``JobContext`` has stored for its next attempt; nil if there is
  /// no checkpoint.
  package let checkpointSize: Int?
  /// The version of its stored form.
  public let version: Int
  /// Its stored form, JSON.
  public let payload: Data

  /// Decodes the job. Throws the decoder's error if the stored form does not fit the type.
  public func decoded<J: Job>(as type: J.Type = J.self) throws -> J {
    try PayloadCoding.decode(type, from: payload)
  }
}

extension JobRecord {
  /// A failed attempt.
  public struct Failure: Sendable, Hashable {
    /// The number of the attempt, from 1.
    public let attempt: Int
    /// When the failure was stored.
    public let failedAt: Date
    /// The error as a sentence.
    public let error: String
  }
}

/// How many jobs there are.
public struct JobCounts: Sendable, Hashable {
  /// The jobs of a kind.
  public struct Kind: Sendable, Hashable {
    /// The kind's name.
    public let kind: String
    /// Whether this queue has registered it.
    public let isRegistered: Bool
    /// Whether it is paused.
    public let isPaused: Bool
    /// How many of its jobs may execute at once in all processes together, as set by
    /// `limit(kind:to:)`; nil for no limit.
    public let limit: Int?
    /// The number of its jobs in each state; states without jobs are left out.
    public let states: [JobState: Int]

    /// The number of jobs in a state.
    public subscript(_ state: JobState) -> Int { states[state] ?? 0 }
    /// The number of all jobs.
    public var total: Int { states.values.reduce(0, +) }
  }

  /// The counts by kind, sorted by name. Includes the kinds that are registered, paused or limited,
  /// or have jobs; if the numbers are approximate, all kinds that ever had a job.
  public let kinds: [Kind]
  /// Whether some numbers are estimates: those of states with more than 20,000 jobs, on a server
  /// that stores more than 100,000. They may be off by a tenth, and by more for a kind with a small
  /// share of the jobs in such a state. States with fewer jobs are counted.
  public let isApproximate: Bool

  /// The number of jobs in a state.
  public subscript(_ state: JobState) -> Int { kinds.reduce(0) { $0 + $1[state] } }
  /// The counts of a kind; nil if it has no jobs and is not registered.
  public subscript(_ kind: String) -> Kind? { kinds.first { KindName($0.kind) == KindName(kind) } }
  /// The number of all jobs.
  public var total: Int { kinds.reduce(0) { $0 + $1.total } }
}

extension JobCounts: CustomStringConvertible {
  /// The counts in a line, such as `mail: 3 waiting, 1 dead; upload (paused): 7 done`.
  public var description: String {
    if kinds.isEmpty { return "no jobs" }
    return (isApproximate ? "about " : "") + kinds.map(\.description).joined(separator: "; ")
  }
}

extension JobCounts.Kind: CustomStringConvertible {
  /// The counts of the kind, such as `mail (limit 2): 3 waiting, 1 dead`.
  public var description: String {
    let rules = [isPaused ? "paused" : nil, limit.map { "limit \($0)" }].compactMap(\.self)
    let counts = JobState.allCases.compactMap { state in states[state].map { "\($0) \(state)" } }
    return kind + (rules.isEmpty ? "" : " (\(rules.joined(separator: ", ")))") + ": "
      + (counts.isEmpty ? "no jobs" : counts.joined(separator: ", "))
  }
}

extension JobCounts {
  /// A kind that has a number, with the number of its jobs.
  typealias StoredKind = (name: String, isPaused: Bool, limit: Int?, states: [JobState: Int])

  init(_ stored: [StoredKind], registered: [String], isApproximate: Bool = false) {
    var kinds: [KindName: Kind] = [:]
    for name in registered {
      kinds[KindName(name)] = Kind(kind: name, isRegistered: true, isPaused: false, limit: nil, states: [:])
    }
    for (name, isPaused, limit, states) in stored {
      let isRegistered = kinds[KindName(name)] != nil
      // A kind that was not seen may exist all the same.
      guard isPaused || limit != nil || !states.isEmpty || isRegistered || isApproximate else { continue }
      kinds[KindName(name)] = Kind(
        kind: name, isRegistered: isRegistered, isPaused: isPaused, limit: limit, states: states)
    }
    self.init(kinds: kinds.values.sorted { $0.kind < $1.kind }, isApproximate: isApproximate)
  }
}
