public import Foundation

/// What is known of a job: a copy of what is stored, made when it was asked for.
public struct JobRecord: Sendable, Hashable, Identifiable {
  /// The job's number.
  public let id: JobID
  /// Its kind.
  public let kind: String
  /// Where it stands.
  public let state: JobState
  /// What runs first.
  public let priority: JobPriority
  /// How many attempts were charged to it: those that failed, and the one that succeeded.
  public let attempts: Int
  /// How many it has; nil for as many as it takes.
  public let maxAttempts: Int?
  /// How many processes ended while it ran in them, one after the other: an attempt that ends sets it back.
  public let crashes: Int
  /// How many processes were lost while they had claimed it, one after the other, so that it cannot be told whether the job is
  /// to blame: they were not heard of for longer than their lease, or, on iOS, tvOS, watchOS and visionOS, ended.
  public let lapses: Int
  /// The error of the last attempt that failed, or the reason why it is dead, cancelled or held; nil if there is none.
  public let lastError: String?
  /// What its attempts failed with, the first one first; the last 20.
  public let failures: [Failure]
  /// When it was enqueued.
  public let enqueuedAt: Date
  /// When it may run, or could for the first time: a scheduled job's time, or when it was retried. Nil for at once.
  public let runAt: Date?
  /// When its last attempt started; nil if none has.
  public let startedAt: Date?
  /// When it was done, dead, or cancelled; nil if it is not.
  public let finishedAt: Date?
  /// Whether it needs a network.
  public let requiresNetwork: Bool
  /// How long an attempt may take.
  public let timeout: Duration?
  /// Its key, if it has one.
  public let uniqueKey: String?
  /// How many of its prerequisites are not done.
  public let unmetPrerequisites: Int
  /// Those of its prerequisites that are not done, in the order of their numbers.
  public let prerequisites: [JobID]
  /// Whether it was asked to be cancelled while it executes.
  public let isCancelRequested: Bool
  /// Whether it is held, not dead, after its last attempt.
  public let holdsAfterLastAttempt: Bool
  /// How many bytes `checkpoint` of ``JobContext`` has stored for its next attempt; nil if nothing is stored.
  public let checkpointSize: Int?
  /// The version of its stored form.
  public let version: Int
  /// Its stored form: JSON.
  public let payload: Data

  /// The job itself. Throws what the decoder throws if the stored form does not fit.
  public func decoded<J: Job>(as type: J.Type = J.self) throws -> J {
    try PayloadCoding.decode(type, from: payload)
  }
}

extension JobRecord {
  /// What an attempt failed with.
  public struct Failure: Sendable, Hashable {
    /// The number of the attempt, from 1.
    public let attempt: Int
    /// When it was written.
    public let date: Date
    /// The error, in a sentence.
    public let error: String
  }
}

/// How many jobs there are.
public struct JobCounts: Sendable, Hashable {
  /// The jobs of a kind.
  public struct Kind: Sendable, Hashable {
    /// The kind's name.
    public let kind: String
    /// Whether this queue has it registered.
    public let isRegistered: Bool
    /// Whether it is paused.
    public let isPaused: Bool
    /// How many of its jobs may execute at once in all processes together, as `limit(kind:to:)` has it; nil for
    /// any number.
    public let limit: Int?
    /// How many jobs of it there are in each state; states without any are left out.
    public let states: [JobState: Int]

    /// How many there are in a state.
    public subscript(_ state: JobState) -> Int { states[state] ?? 0 }
    /// How many there are at all.
    public var total: Int { states.values.reduce(0, +) }
  }

  /// By kind, in the order of their names. Kinds that are registered, paused, limited, or have jobs; all kinds that
  /// ever had one if the numbers are approximate.
  public let kinds: [Kind]
  /// Whether numbers are estimates: those of states with more than 20,000 jobs, on a server that stores more than
  /// 100,000. They may be wrong by a tenth, and more for kinds that have a small part of the jobs in such a state.
  /// States with fewer jobs are counted.
  public let isApproximate: Bool

  /// How many there are in a state.
  public subscript(_ state: JobState) -> Int { kinds.reduce(0) { $0 + $1[state] } }
  /// The jobs of a kind, if there are any, or it is registered.
  public subscript(_ kind: String) -> Kind? { kinds.first { KindName($0.kind) == KindName(kind) } }
  /// How many there are at all.
  public var total: Int { kinds.reduce(0) { $0 + $1.total } }
}

extension JobCounts {
  /// A kind that has a number, and how many jobs of it there are.
  typealias StoredKind = (name: String, isPaused: Bool, limit: Int?, states: [JobState: Int])

  init(_ stored: [StoredKind], registered: [String], isApproximate: Bool = false) {
    var kinds: [KindName: Kind] = [:]
    for name in registered {
      kinds[KindName(name)] = Kind(kind: name, isRegistered: true, isPaused: false, limit: nil, states: [:])
    }
    for (name, isPaused, limit, states) in stored {
      let isRegistered = kinds[KindName(name)] != nil
      // What is not seen may be there all the same.
      guard isPaused || limit != nil || !states.isEmpty || isRegistered || isApproximate else { continue }
      kinds[KindName(name)] = Kind(
        kind: name, isRegistered: isRegistered, isPaused: isPaused, limit: limit, states: states)
    }
    self.init(kinds: kinds.values.sorted { $0.kind < $1.kind }, isApproximate: isApproximate)
  }
}
