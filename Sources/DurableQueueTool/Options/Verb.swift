import CommandLineSupport

/// What the tool can do: the first word of its arguments.
enum Verb: String, CaseIterable, Sendable {
  case list, show, stats, retry, cancel, hold, delete, priority, pause, resume, drain, export

  /// What stands behind the file.
  var usage: String {
    switch self {
    case .list: "[--kind KIND] [--state STATE]… [--limit N] [--after ID] [--json]"
    case .show, .cancel, .hold, .delete: "ID… [--json]"
    case .stats: "[--json]"
    case .retry: "ID… | --all-dead | --all-held [--kind KIND] [--json]"
    case .priority: "ID… MAJOR[,MINOR] [--json]"
    case .pause, .resume: "KIND… [--json]"
    case .drain: "[--kind KIND] [--json]"
    case .export: "[--kind KIND] [--state STATE]…"
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
    case .delete: "delete jobs that do not execute; what depends on them is cancelled, or as its options say"
    case .priority: "change the priority of jobs; the larger runs first"
    case .pause: "keep jobs of a kind from starting, in all processes, until it is resumed"
    case .resume: "have jobs of a paused kind start again"
    case .drain: "delete all jobs that do not run yet; what executes goes on"
    case .export: "print jobs as JSON, each in a line"
    }
  }

  var example: String {
    switch self {
    case .list: "jobs.sqlite --state dead"
    case .show, .cancel, .hold, .delete: "jobs.sqlite 7"
    case .stats: "jobs.sqlite"
    case .retry: "jobs.sqlite --all-dead"
    case .priority: "jobs.sqlite 7 20"
    case .pause, .resume: "jobs.sqlite send-email"
    case .drain: "jobs.sqlite --kind send-email"
    case .export: "jobs.sqlite --state done > done.jsonl"
    }
  }

  /// The options that it knows, each with an example of its value.
  var options: Arguments.Options {
    switch self {
    case .list:
      ["--kind": "send-email", "--state": "dead", "--limit": "20", "--after": "100", "--json": nil, "--help": nil]
    case .show, .stats, .cancel, .hold, .delete, .priority, .pause, .resume: ["--json": nil, "--help": nil]
    case .retry: ["--all-dead": nil, "--all-held": nil, "--kind": "send-email", "--json": nil, "--help": nil]
    case .drain: ["--kind": "send-email", "--json": nil, "--help": nil]
    case .export: ["--kind": "send-email", "--state": "dead", "--help": nil]
    }
  }
}
