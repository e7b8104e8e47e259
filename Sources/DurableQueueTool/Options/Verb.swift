import CompositeOperationsCommandLine

/// A command of the tool: the first word of its arguments.
enum Verb: String, CaseIterable, Sendable {
  case list, show, stats, retry, cancel, hold, delete
  case deleteUnstarted = "delete-unstarted"
  case priority, pause, resume, limit, periodic, unschedule, export, compact, workers, doctor, schema

  /// Whether it needs an existing queue.
  var takesPlace: Bool { self != .schema }

  /// What follows the place, in each of its forms.
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
    case .deleteUnstarted: ["--kind KIND [--dry-run | --yes] [--json]", "--all [--dry-run | --yes] [--json]"]
    case .unschedule: ["NAME… [--json]"]
    case .export: ["[--kind KIND] [--state STATE]… [--json]"]
    case .schema: ["--print [--schema NAME] [--role ROLE]"]
    }
  }

  /// What it does, on one line.
  var summary: String {
    switch self {
    case .list: "show jobs in a table, in the order of their numbers"
    case .show: "show everything about jobs, with their stored form"
    case .stats: "count the jobs, by kind and state"
    case .retry: "make held, dead, cancelled or scheduled jobs run as soon as there is room"
    case .cancel: "cancel jobs; an executing job is asked to end, in any process"
    case .hold: "keep jobs that do not run yet from running, until they are retried"
    case .delete: "delete jobs that do not execute, for good: they are lost"
    case .priority: "change the priority of jobs; the larger runs first"
    case .pause: "keep jobs of a kind from starting, in all processes, until it is resumed"
    case .resume: "let jobs of a paused kind start again"
    case .limit: "limit how many jobs of a kind execute at once, in all processes together"
    case .deleteUnstarted: "delete all jobs that do not run yet, of a kind or of all, for good: they are lost"
    case .periodic: "show the periodic jobs, with their next times"
    case .unschedule: "stop enqueuing periodic jobs; jobs that were enqueued stay"
    case .export: "print jobs as JSON, one on each line"
    case .compact: "return the space that deleted jobs left free in the file, or on the server, to the system"
    case .workers: "show the processes that run jobs: on which machines, until when, and which jobs"
    case .doctor: "look for problems of the queue, and say what to do about them"
    case .schema: "print the SQL that makes the tables on a server, for an administrator"
    }
  }

  /// What a user should know first; nil if the summary says it all.
  var note: String? {
    switch self {
    case .delete:
      """
      Deleted jobs cannot be brought back: print them first with `durable-queue export`. Executing jobs stay: cancel
      them first. Jobs that wait for a deleted one are cancelled, or follow their options.

      """ + Self.question(needingYes: "--state")
    case .priority:
      """
      With --kind it changes all jobs of the kind that are not done or cancelled. Without MINOR each of them keeps its own:
      their order among each other stays.

      """
    case .deleteUnstarted:
      """
      It deletes waiting, scheduled, blocked and held jobs. They cannot be brought back: print them first with
      `durable-queue export`. Executing jobs go on, and cancelled, dead and done jobs stay.

      """ + Self.question(needingYes: "the command")
    case .pause, .limit:
      """
      The queue knows a kind that has or had jobs, or that a program has registered. Another one may be misspelt, and needs
      --new.

      """
    case .periodic:
      """
      It names unreadable ones on standard error, shows the others, and exits with status 1.

      """
    case .unschedule:
      """
      A program that schedules a job of the same name when it starts enqueues it again.

      """
    case .compact:
      """
      It rewrites a file, which needs space for a copy of the remaining data in its folder and in that for temporary files.
      All jobs stay. Until it is done no program can store or start jobs; running jobs go on. If a program is in a
      transaction for longer than some seconds, the file is not compacted, and the exit status is 1.
      On a server it is VACUUM (ANALYZE), by the owner of the tables. No program waits for it. It returns the free space
      at the ends of the tables; the rest is used for further jobs.

      """
    case .list, .show, .stats, .export:
      """
      A file stays as it is, so read permission is enough.

      """
    case .workers:
      """
      It leaves out processes that have had nothing to run for a while. Whether a process is alive is known only on this
      machine; for others, their leases tell. Other processes take over the jobs of a process whose lease is over. A file
      stays as it is.

      """
    case .doctor:
      """
      On a server it checks the tables and the rights of the role, the plans of the statements, old snapshots, dead rows,
      autovacuum, connections, clocks, settings, and whether there is a pooler; in a file its pages, its log and its
      tables. It changes nothing. GRANT pg_read_all_stats shows it the ages of other sessions. The exit status is 1 if
      something needs attention.

      """
    case .schema:
      """
      For queues with PostgresOptions(migrates: false), whose role may make no tables. Run the SQL with psql, in a schema
      without tables, as the role that will own them. With --role it grants ROLE its rights; without, it ends with these
      GRANTs as a comment. The tool connects to nothing here.

      """
    case .retry, .cancel, .hold, .resume: nil
    }
  }

  /// - Parameter form: the form of the command that deletes many jobs.
  private static func question(needingYes form: String) -> String {
    """
    On a terminal it shows how many jobs it would delete, of which kinds and states, and asks; any answer but y or yes
    means no, with the exit status 1. Jobs that arrive before the answer are deleted with the others.
    If standard input or standard error is not a terminal, \(form) needs --yes:
    without --yes it says what it would delete, and exits with status 1.

    """
  }

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
    case .deleteUnstarted: "jobs.sqlite --kind send-email"
    case .unschedule: "jobs.sqlite nightly"
    case .export: "jobs.sqlite --state done > done.jsonl"
    }
  }

  /// Its options, each with an example of its value.
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
    case .deleteUnstarted:
      [
        "--kind": "send-email", "--all": nil, "--dry-run": nil, "--yes": nil, "--schema": "jobs", "--json": nil,
        "--help": nil,
      ]
    case .export: ["--kind": "send-email", "--state": "dead", "--schema": "jobs", "--json": nil, "--help": nil]
    case .schema: ["--print": nil, "--schema": "jobs", "--role": "app", "--help": nil]
    }
  }
}
