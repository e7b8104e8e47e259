import DurableOperations

/// The meaning of a command line.
enum Invocation: Equatable, Sendable {
  /// The help for a verb; nil for all verbs.
  case help(Verb?)
  case version
  case printSchema(SchemaScript)
  case run(Request)
}

/// A request for the SQL that makes the tables of a queue.
struct SchemaScript: Equatable, Sendable {
  var schema: String
  /// The role that will use them; nil for none yet.
  var role: String?
}

/// A request for a queue.
struct Request: Equatable, Sendable {
  var place: QueuePlace
  /// The command as it was written.
  var verb: Verb
  var action: Action
  /// Whether programs read the output.
  var isJSON = false
  /// Whether to print only what would be deleted.
  var isDryRun = false
  /// Whether to delete without a question.
  var isConfirmed = false
}

enum Action: Equatable, Sendable {
  case list(Page)
  case show([JobID])
  case stats
  case periodic
  case export(Filter)
  case compact
  case workers
  case doctor
  case change(Change)
}

/// A selection of jobs.
struct Filter: Equatable, Sendable {
  var kind: String?
  var states: Set<JobState>?
}

/// A part of a selection.
struct Page: Equatable, Sendable {
  var filter = Filter()
  var after: JobID?
  /// Nil for all of them.
  var limit: Int? = Page.inATable

  static let inATable = 50
}

/// A change of stored jobs.
enum Change: Equatable, Sendable {
  case jobs([JobID], JobChange)
  case all(ChangeOfAll)
  /// - evenNew: also kinds that the queue does not know.
  case pause(kinds: [String], evenNew: Bool)
  case resume(kinds: [String])
  /// - count: nil for no limit.
  case limit(kinds: [String], to: Int?, evenNew: Bool)
  case unschedule(names: [String])
}

/// A change of one job.
enum JobChange: Equatable, Sendable {
  case retry, cancel, hold, delete
  case priority(JobPriority)
}

/// A change of all jobs in a state, or of a kind.
enum ChangeOfAll: Equatable, Sendable {
  case retry(DurableQueue.RetriableState, kind: String?)
  case delete(Set<JobState>, kind: String?)
  /// - minor: nil to keep that of each job.
  case priority(major: Int, minor: Int?, kind: String)
  case deleteUnstarted(kind: String?)

  /// Nil for all kinds.
  var kind: String? {
    switch self {
    case .retry(_, let kind), .delete(_, let kind), .deleteUnstarted(let kind): kind
    case .priority(_, _, let kind): kind
    }
  }
}

extension Change {
  /// Whether it deletes jobs.
  var deletes: Bool {
    switch self {
    case .jobs(_, let change): change == .delete
    case .all(.delete), .all(.deleteUnstarted): true
    case .all(.retry), .all(.priority), .pause, .resume, .limit, .unschedule: false
    }
  }
}

extension ChangeOfAll {
  /// The states of the jobs that it deletes.
  var deletedStates: Set<JobState> {
    switch self {
    case .delete(let states, _): states.subtracting([.executing])
    case .deleteUnstarted: [.waiting, .scheduled, .blocked, .held]
    case .retry, .priority: []
    }
  }
}
