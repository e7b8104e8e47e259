import DurableOperations

/// What a command line asks for.
enum Invocation: Equatable, Sendable {
  /// The help for a verb; nil for all of it.
  case help(Verb?)
  case run(Request)
}

/// Something to be done with a file.
struct Request: Equatable, Sendable {
  var file: String
  /// The command as it was written.
  var verb: Verb
  var action: Action
  /// Whether programs read the output.
  var isJSON = false
}

enum Action: Equatable, Sendable {
  case list(Page)
  case show([JobID])
  case stats
  case periodic
  case export(Filter)
  case change(Change)
}

/// Which jobs are meant.
struct Filter: Equatable, Sendable {
  var kind: String?
  var states: Set<JobState>?
}

/// A part of those that are meant.
struct Page: Equatable, Sendable {
  var filter = Filter()
  var after: JobID?
  /// Nil for all of them.
  var limit: Int? = Page.inATable

  static let inATable = 50
}

/// Something that changes what is stored.
enum Change: Equatable, Sendable {
  case jobs([JobID], JobChange)
  case all(ChangeOfAll)
  case pause(kinds: [String])
  case resume(kinds: [String])
  case unschedule(names: [String])
}

/// What becomes of a job.
enum JobChange: Equatable, Sendable {
  case retry, cancel, hold, delete
  case priority(JobPriority)
}

/// What becomes of all jobs in a state, or of a kind.
enum ChangeOfAll: Equatable, Sendable {
  case retry(DurableQueue.RetriableState, kind: String?)
  case delete(Set<JobState>, kind: String?)
  case priority(JobPriority, kind: String)
  case drain(kind: String?)

  /// Nil for all kinds.
  var kind: String? {
    switch self {
    case .retry(_, let kind), .delete(_, let kind), .drain(let kind): kind
    case .priority(_, let kind): kind
    }
  }
}
