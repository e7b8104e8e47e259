import CompositeOperationsCommandLine

/// What the tool can do: the first word of its arguments.
enum Verb: String, CaseIterable, Sendable {
  case list, show, stats, retry, cancel, hold, delete, priority, pause, resume, limit, drain, periodic, unschedule,
    export,
    compact, workers, doctor, schema

  /// Whether it is about a queue that is there.
  var takesPlace: Bool { self != .schema }

  /// What stands behind the place, in each of its forms.
  var usage: [String] {
    switch self {
    case .list: ["[--kind KIND] [--state STATE]… [--limit N] [--after ID] [--json]"]
    case .show, .cancel, .hold: ["ID… [--json]"]
    case .stats, .periodic, .compact, .workers, .doctor: ["[--json]"]
    case .retry: ["ID… [--json]", "--all-dead [--kind KIND] [--json]", "--all-held [--kind KIND] [--json]"]
    case .delete:
      ["ID… [--dry-run | --yes] [--json]", "--state STATE… [--kind KIND] [--dry-run | --yes] [--json]"]
    case .priority: ["ID… MAJOR[,MINOR] [--json]", "--kind KIND MAJOR[,MINOR] [--json]"]
    case .pause: ["KIND… [--new] [--json]"]
    case .resume: ["KIND… [--json]"]
    case .limit: ["KIND… --to N [--new] [--json]", "KIND… --none [--json]"]
    case .drain: ["--kind KIND [--dry-run | --yes] [--json]", "--all [--dry-run | --yes] [--json]"]
    case .unschedule: ["NAME… [--json]"]
    case .export: ["[--kind KIND] [--state STATE]… [--json]"]
    case .schema: ["--print [--schema NAME] [--role ROLE]"]
    }
  }

  /// What it does, in a line.
  var summary: String {
    switch self {
    case .list: "show jobs in a table, in the order of their numbers"
    case .show: "show all that is known of jobs, with what is stored of them"
    case .stats: "count the jobs, by kind and state"
    case .retry: "have held, dead, cancelled or scheduled jobs run as soon as there is room"
    case .cancel: "cancel jobs; one that executes is asked to end, in whichever process"
    case .hold: "keep jobs that do not run yet from running, until they are retried"
    case .delete: "delete jobs that do not execute, for good: they are lost"
    case .priority: "change the priority of jobs; the larger runs first"
    case .pause: "keep jobs of a kind from starting, in all processes, until it is resumed"
    case .resume: "have jobs of a paused kind start again"
    case .limit: "let no more than so many jobs of a kind execute at once, in all processes together"
    case .drain: "delete all jobs that do not run yet, of a kind or of all, for good: they are lost"
    case .periodic: "show the jobs that are enqueued again and again, and when next"
    case .unschedule: "have periodic jobs not enqueued any more; what was enqueued stays"
    case .export: "print jobs as JSON, each in a line"
    case .compact: "give the space back that deleted jobs have left free in the file, or on the server"
    case .workers: "show the processes that run jobs: on which machines, until when, and which jobs"
    case .doctor: "look for what keeps the queue from running well, and say what to do about it"
    case .schema: "print the SQL that makes the tables on a server, for an administrator"
    }
  }

  /// What one should know before; nil if the summary says it all.
  var note: String? {
    switch self {
    case .delete:
      """
      What is deleted can not be brought back; `durable-queue export` prints it before. Jobs that execute stay: cancel
      them first. Jobs that wait for a deleted one are cancelled, or as their options say.

      """ + Self.questionNote
    case .priority:
      """
      With --kind it is changed for all jobs of the kind but those that are done or cancelled. If MINOR is left out
      there, each keeps its own: their order among each other stays.

      """
    case .drain:
      """
      It deletes what is waiting, scheduled, blocked or held. That can not be brought back; `durable-queue export` prints
      it before. What executes goes on, and what is cancelled, dead or done stays.

      """ + Self.questionNote
    case .pause, .limit:
      """
      A kind is known that has or had jobs, or that a program has registered. Another one may be misspelt, and is refused
      without --new.

      """
    case .periodic:
      """
      One that can not be read is named on the standard error output, the others are shown, and the exit status is 1.

      """
    case .unschedule:
      """
      A program that schedules a job of the same name when it starts has it enqueued again.

      """
    case .compact:
      """
      A file is written anew, with room for a copy of what is left in its folder and in that for temporary files. All jobs
      stay. Until it is done no program can store or start jobs; what runs goes on. If a program is in the midst of a
      transaction for longer than some seconds, it is not compacted, and the exit status is 1.
      On a server it is VACUUM (ANALYZE), by the owner of the tables. Nobody waits for it, and it gives back what is free
      at their ends; the rest is used for further jobs.

      """
    case .list, .show, .stats, .export:
      """
      A file stays as it is, so the right to read it is enough.

      """
    case .workers:
      """
      A process that has had nothing to run for a while is not among them. Of one on this machine it is told whether it is
      there, of others that is unknown: their leases tell. What belongs to a process whose lease is over is taken over by
      the others. A file stays as it is.

      """
    case .doctor:
      """
      Of a server it looks at the tables and the rights of the role, the plans of the statements, old snapshots, dead rows,
      autovacuum, connections, clocks, settings, and whether a pooler stands between; of a file at its pages, its log and
      its tables. Nothing is changed. Other sessions' ages are seen with GRANT pg_read_all_stats. The exit status is 1 if
      something needs attention.

      """
    case .schema:
      """
      For queues that open with PostgresOptions.migrates = false, as their role may make no tables. Run it with psql, in a
      schema without tables, as the role that is to own them. With --role it grants ROLE what it needs; without, these GRANTs
      stand at its end as a comment. The tool connects to nothing here.

      """
    case .retry, .cancel, .hold, .resume: nil
    }
  }

  private static let questionNote = """
    On a terminal it tells how many jobs that would be, of which kinds and states, and asks; all but y and yes means no,
    and the exit status is 1 then. Jobs that have come meanwhile are deleted with the others. Where the standard input or
    the standard error output is no terminal it does not ask: a script has nobody to answer, and says what it wants.

    """

  var example: String {
    switch self {
    case .list: "jobs.sqlite --state dead"
    case .show, .cancel, .hold, .delete: "jobs.sqlite 7"
    case .stats, .periodic, .compact: "jobs.sqlite"
    case .workers, .doctor: "postgresql://app@db.example.org/shop"
    case .schema: "--print --role app | psql -v ON_ERROR_STOP=1 shop"
    case .retry: "jobs.sqlite --all-dead"
    case .priority: "jobs.sqlite 7 20"
    case .pause, .resume: "jobs.sqlite send-email"
    case .limit: "jobs.sqlite send-email --to 4"
    case .drain: "jobs.sqlite --kind send-email"
    case .unschedule: "jobs.sqlite nightly"
    case .export: "jobs.sqlite --state done > done.jsonl"
    }
  }

  /// The options that it knows, each with an example of its value.
  var options: Arguments.Options {
    switch self {
    case .list:
      [
        "--kind": "send-email", "--state": "dead", "--limit": "20", "--after": "100", "--schema": "jobs", "--json": nil,
        "--help": nil,
      ]
    case .show, .stats, .cancel, .hold, .resume, .periodic, .unschedule, .compact, .workers, .doctor:
      ["--schema": "jobs", "--json": nil, "--help": nil]
    case .pause: ["--new": nil, "--schema": "jobs", "--json": nil, "--help": nil]
    case .limit: ["--to": "4", "--none": nil, "--new": nil, "--schema": "jobs", "--json": nil, "--help": nil]
    case .retry:
      [
        "--all-dead": nil, "--all-held": nil, "--kind": "send-email", "--schema": "jobs", "--json": nil, "--help": nil,
      ]
    case .delete:
      [
        "--state": "done", "--kind": "send-email", "--dry-run": nil, "--yes": nil, "--schema": "jobs", "--json": nil,
        "--help": nil,
      ]
    case .priority: ["--kind": "send-email", "--schema": "jobs", "--json": nil, "--help": nil]
    case .drain:
      [
        "--kind": "send-email", "--all": nil, "--dry-run": nil, "--yes": nil, "--schema": "jobs", "--json": nil,
        "--help": nil,
      ]
    case .export: ["--kind": "send-email", "--state": "dead", "--schema": "jobs", "--json": nil, "--help": nil]
    case .schema: ["--print": nil, "--schema": "jobs", "--role": "app", "--help": nil]
    }
  }
}
