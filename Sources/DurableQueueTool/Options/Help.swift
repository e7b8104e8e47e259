import CommandLineSupport
import DurableOperations

/// What `--help` prints.
enum Help {
  static var text: String {
    var verbs = Table(indentation: "  ")
    for verb in Verb.allCases { verbs.add(verb.rawValue, verb.summary) }
    return """
      durable-queue: looks at the jobs of a durable queue, and manages them.

      usage: durable-queue COMMAND FILE [arguments] [options]

      FILE is the database file of a queue. The programs that run its jobs may go on meanwhile. Their kinds need not be
      known here. A file that is not there is an error; it is never made.

      commands:
      \(verbs.text)
      `durable-queue COMMAND --help` tells the arguments and options of a command.

      \(exitStatus)
      """
  }

  static func text(of verb: Verb) -> String {
    var options = Table(indentation: "  ")
    for (name, example) in verb.options {
      options.add(example == nil ? name : "\(name) \(placeholder(name))", meaning(name))
    }
    return """
      durable-queue \(verb.rawValue): \(verb.summary)

      usage: durable-queue \(verb.rawValue) FILE \(verb.usage)

      options:
      \(options.text)
      for example: durable-queue \(verb.rawValue) \(verb.example)
      \(keys(verb))
      \(exitStatus)
      """
  }

  private static let exitStatus = """
    exit status:
      0   all was done
      1   something could not be done: there is no such job, or the file can not be used
      64  the command line is wrong

    """

  private static func placeholder(_ name: String) -> String {
    switch name {
    case "--limit": "N"
    case "--after": "ID"
    default: name.dropFirst(2).uppercased()
    }
  }

  private static func meaning(_ name: String) -> String {
    switch name {
    case "--kind": "only jobs of this kind"
    case "--state": "only jobs in this state; several together with commas, or with several of these"
    case "--limit": "how many at most (default: \(Page().limit))"
    case "--after": "only jobs with a larger number: the last one of the page before"
    case "--all-dead": "all jobs that are dead"
    case "--all-held": "all jobs that are held"
    case "--json": "print JSON, for programs"
    default: "print this"
    }
  }

  /// The keys of what is printed as JSON.
  private static func keys(_ verb: Verb) -> String {
    switch verb {
    case .list, .show, .export:
      """

      states: \(JobState.allCases.map(\.description).joined(separator: ", "))

      JSON: an object for each job, \(verb == .export ? "in a line" : "in an array"); the keys are sorted, the payload is last.
      Always there are
        id, kind, state, majorPriority, minorPriority, attempts, crashes, requiresNetwork, unmetPrerequisites,
        cancelRequested, version, enqueuedAt, and either payload (as it is stored, if that is JSON) or payloadBase64.
      There if they are known are
        maxAttempts, lastError, runAt, startedAt, finishedAt, timeout (seconds), uniqueKey.
      Times are in ISO 8601, in UTC.

      """
    case .stats:
      """

      JSON: file, bytes, total, states (the count of each state), kinds (for each: kind, paused, total, states).

      """
    case .retry, .cancel, .hold, .delete, .priority, .drain:
      """

      JSON: command, count (how many were changed), jobs (their numbers; null for all of a state or kind), failures (for
      each: id, error).

      """
    case .pause, .resume:
      """

      JSON: command, count, kinds (their names).

      """
    }
  }
}
