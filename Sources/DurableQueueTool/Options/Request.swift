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
  var action: Action
  /// Whether programs read the output.
  var isJSON = false
}

enum Action: Equatable, Sendable {
  case list(Page)
  case show([JobID])
  case stats
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
  var limit = 50
}

/// Something that changes jobs.
enum Change: Equatable, Sendable {
  case retry([JobID])
  case retryAll(DurableQueue.RetriableState, kind: String?)
  case cancel([JobID])
  case hold([JobID])
  case delete([JobID])
  case priority([JobID], JobPriority)
  case pause([String])
  case resume([String])
  case drain(kind: String?)
}
