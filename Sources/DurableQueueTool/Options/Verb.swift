import CompositeOperationsCommandLine

/// What the tool can do: the first word of its arguments.
enum Verb: String, CaseIterable, Sendable {
  case list, show, stats, retry, cancel, hold, delete, priority, pause, resume, drain, periodic, unschedule, export

  /// What stands behind the file, in each of its forms.
  var usage: [String] {
    switch self {
    case .list: ["[--kind KIND] [--state STATE]… [--limit N] [--after ID] [--json]"]
    case .show, .cancel, .hold: ["ID… [--json]"]
    case .stats, .periodic: ["[--json]"]
    case .retry: ["ID… [--json]", "--all-dead [--kind KIND] [--json]", "--all-held [--kind KIND] [--json]"]
    case .delete: ["ID… [--json]", "--state STATE… [--kind KIND] [--json]"]
    case .priority: ["ID… MAJOR[,MINOR] [--json]", "--kind KIND MAJOR[,MINOR] [--json]"]
    case .pause, .resume: ["KIND… [--json]"]
    case .drain: ["--kind KIND [--json]", "--all [--json]"]
    case .unschedule: ["NAME… [--json]"]
    case .export: ["[--kind KIND] [--state STATE]… [--json]"]
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
    case .drain: "delete all jobs that do not run yet, of a kind or of all, for good: they are lost"
    case .periodic: "show the jobs that are enqueued again and again, and when next"
    case .unschedule: "have periodic jobs not enqueued any more; what was enqueued stays"
    case .export: "print jobs as JSON, each in a line"
    }
  }

  /// What one should know before; nil if the summary says it all.
  var note: String? {
    switch self {
    case .delete:
      """
      What is deleted can not be brought back; `durable-queue export` prints it before. Jobs that execute stay: cancel
      them first. Jobs that wait for a deleted one are cancelled, or as their options say.

      """
    case .priority:
      """
      With --kind it is changed for all jobs of the kind but those that are done or cancelled.

      """
    case .drain:
      """
      It deletes what is waiting, scheduled, blocked or held. That can not be brought back; `durable-queue export` prints
      it before. What executes goes on, and what is cancelled, dead or done stays.

      """
    case .unschedule:
      """
      A program that schedules a job of the same name when it starts has it enqueued again.

      """
    case .list, .show, .stats, .retry, .cancel, .hold, .pause, .resume, .periodic, .export: nil
    }
  }

  var example: String {
    switch self {
    case .list: "jobs.sqlite --state dead"
    case .show, .cancel, .hold, .delete: "jobs.sqlite 7"
    case .stats, .periodic: "jobs.sqlite"
    case .retry: "jobs.sqlite --all-dead"
    case .priority: "jobs.sqlite 7 20"
    case .pause, .resume: "jobs.sqlite send-email"
    case .drain: "jobs.sqlite --kind send-email"
    case .unschedule: "jobs.sqlite nightly"
    case .export: "jobs.sqlite --state done > done.jsonl"
    }
  }

  /// The options that it knows, each with an example of its value.
  var options: Arguments.Options {
    switch self {
    case .list:
      ["--kind": "send-email", "--state": "dead", "--limit": "20", "--after": "100", "--json": nil, "--help": nil]
    case .show, .stats, .cancel, .hold, .pause, .resume, .periodic, .unschedule: ["--json": nil, "--help": nil]
    case .retry: ["--all-dead": nil, "--all-held": nil, "--kind": "send-email", "--json": nil, "--help": nil]
    case .delete: ["--state": "done", "--kind": "send-email", "--json": nil, "--help": nil]
    case .priority: ["--kind": "send-email", "--json": nil, "--help": nil]
    case .drain: ["--kind": "send-email", "--all": nil, "--json": nil, "--help": nil]
    case .export: ["--kind": "send-email", "--state": "dead", "--json": nil, "--help": nil]
    }
  }
}
