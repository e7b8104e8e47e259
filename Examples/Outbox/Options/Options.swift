import Foundation

/// What the command line asks for.
enum Invocation: Equatable, Sendable {
  /// The help for a command; nil for all of it.
  case help(Verb?)
  case enqueue(folder: String, database: Database)
  case digest(database: Database)
  case run(RunOptions)
  case status(database: Database)
  case serve(ServeOptions)
}

/// How messages are sent.
struct RunOptions: Equatable, Sendable {
  var database = Database.usual
  var server: URL
  /// How many messages are sent at the same time.
  var width = 4
  /// How long each step takes at least, so that there is something to watch, and to kill.
  var pace = Duration.zero
  /// How long messages that are under way may go on when the program is asked to end.
  var grace = Duration.seconds(5)
  /// Whether the program stays when everything is sent.
  var stays = false
  /// Whether the end of the standard input asks the program to end.
  var endsWithInput = false
}

/// How the bundled server works.
struct ServeOptions: Equatable, Sendable {
  var port: UInt16 = 8025
  var log = "received.jsonl"
  /// The share of requests that something happens to.
  var failure = 0.0
  var seed: UInt64 = 1
  /// Whether the end of the standard input asks the program to end.
  var endsWithInput = false
}
