import CompositeOperationsCommandLine
import DurableOperations

/// The text of `--help`.
enum Help {
  static var text: String {
    var verbs = Table(indentation: "  ")
    for verb in Verb.allCases { verbs.add(verb.rawValue, verb.summary) }
    return """
      durable-queue: shows and manages the jobs of a durable queue.

      usage: durable-queue COMMAND PLACE [arguments] [options]

      PLACE is the database file of a queue, or the URL of a PostgreSQL server: postgresql://app@db.example.org/shop. The
      programs that run its jobs may go on meanwhile. This tool needs to know nothing about their kinds. A place without a
      queue is an error; the tool makes none.

      - stands for the place that $DURABLE_QUEUE names. Where no other word follows, it can be left out, too. The tables on a
      server are in the schema durable, unless --schema names another one. Keep passwords in ~/.pgpass or $PGPASSWORD:
      other users may see a command line. The output never shows a password.

      commands:
      \(verbs.text)
      `durable-queue COMMAND --help` shows the arguments and options of a command, `durable-queue --version` the version.

      \(exitStatus)
      """
  }

  static func text(of verb: Verb) -> String {
    let name = "durable-queue \(verb.rawValue)"
    let usage = verb.usage.map { "\(name)\(verb.takesPlace ? " PLACE" : "") \($0)\n" }.joined(separator: "       ")
    var options = Table(indentation: "  ")
    for (option, example) in verb.options {
      options.add(example == nil ? option : "\(option) \(placeholder(option))", meaning(option, of: verb))
    }
    let states = "states: \(JobState.allCases.map(\.description).joined(separator: ", "))\n"
    let parts = [
      "\(name): \(verb.summary)\n", "usage: \(usage)", verb.takesPlace ? place : nil, verb.note,
      "options:\n\(options.text)",
      verb.options.contains { $0.key == "--state" } ? states : nil, "for example: \(name) \(verb.example)\n",
      keys(verb), exitStatus,
    ]
    return parts.compactMap(\.self).joined(separator: "\n")
  }

  private static let place = """
    PLACE is a file, the URL of a server, or - for the place that $DURABLE_QUEUE names: see durable-queue --help.

    """

  private static let exitStatus = """
    exit status:
      0   success
      1   something could not be done: there is no such job, it is in another state, or the place cannot be used; or
          the answer to a question was no, or --yes is missing; or doctor has found something that needs attention
      64  the command line is wrong

    """

  private static func placeholder(_ name: String) -> String {
    switch name {
    case "--limit": "N"
    case "--after": "ID"
    case "--schema": "NAME"
    default: name.dropFirst(2).uppercased()
    }
  }

  private static func meaning(_ option: String, of verb: Verb) -> String {
    switch option {
    case "--kind" where verb == .priority: "all jobs of this kind"
    case "--kind": "only jobs of this kind"
    case "--state": "only jobs in this state; for several states use commas, or repeat the option"
    case "--limit": "how many at most (default: \(Page.inATable); with --json all)"
    case "--after": "only jobs with a larger number: give the last one of the page before"
    case "--dry-run": "print what would be deleted, and delete nothing"
    case "--yes": "delete without a question, also if there is no terminal to ask on"
    case "--new": "also kinds that the queue does not know yet"
    case "--all": "jobs of all kinds"
    case "--schema": "the schema of the tables on a server (default: \(QueuePlace.usualSchema))"
    case "--print": "print the SQL, and do nothing else"
    case "--role": "the role that uses the tables: grants it its rights"
    case "--all-dead": "all dead jobs"
    case "--all-held": "all held jobs"
    case "--json" where verb == .export: "no effect: the output is JSON anyway"
    case "--json": "print JSON, for programs"
    default: "print this"
    }
  }

  /// The keys of the JSON output.
  private static func keys(_ verb: Verb) -> String? {
    switch verb {
    case .list, .show, .export:
      """
      JSON: an object for each job, \(verb == .export ? "in a line" : "in an array"); the keys are sorted, the payload is last.
      Always present are
        id, kind, state, majorPriority, minorPriority, attempts, crashes, lapses, holdsAfterLastAttempt, requiresNetwork,
        unmetPrerequisites, cancelRequested, version, enqueuedAt, and either payload (as it is stored, if that is JSON)
        or payloadBase64.
      Present if known are
        maxAttempts, lastError, failures (of each attempt: at, attempt, error), runAt, startedAt, finishedAt,
        timeout (seconds), uniqueKey, prerequisites (the numbers of the jobs it waits for), checkpointSize (bytes).
      Times are in ISO 8601, in UTC.

      """
    case .stats:
      """
      JSON: file, or server and schema; bytes, total, approximate (whether numbers are estimates: those of many jobs on a
      server), states (the count of each state), kinds (for each: kind, paused, limit (null for none), total, states).

      """
    case .periodic:
      """
      JSON: an object for each in an array: name, kind, schedule (cron and timeZone, or everyMilliseconds and, if it has a
      start, startsAt), catchUp (latest or all), nextAt (null if there is no next time). Times are in ISO 8601, in UTC.

      """
    case .delete, .deleteUnstarted:
      """
      JSON: command, dryRun (true; only with --dry-run), count (how many were deleted), jobs (their numbers; null for all
      of a state or kind), failures (for each: id, error).

      """
    case .compact:
      """
      JSON: file, or server and schema; bytes (how many it takes now, with its log, or its indexes), freed (how many fewer
      than before).

      """
    case .workers:
      """
      JSON: an object for each in an array: id, host (null if it is not known), process, onThisMachine, liveness (alive,
      dead or unknown), leaseEnd, leaseLeft (seconds; negative if it is over), jobs (for each: id, kind, startedAt, null if
      it is not known). Times are in ISO 8601, in UTC, by the clock of the server; for a file by that of this machine.

      """
    case .doctor:
      """
      JSON: file, or server and schema; attention (how many findings need it), findings (for each: subject, level, finding,
      reason, remedy). The level is attention, unknown (it could not be seen) or fine; reason and remedy may be null.

      """
    case .schema: nil
    case .retry, .cancel, .hold, .priority:
      """
      JSON: command, count (how many were changed), jobs (their numbers; null for all of a state or kind), failures (for
      each: id, error).

      """
    case .pause, .resume, .limit:
      """
      JSON: command, count, kinds (their names), failures (for each: kind, error).

      """
    case .unschedule:
      """
      JSON: command, count, names, failures (for each: name, error).

      """
    }
  }
}
