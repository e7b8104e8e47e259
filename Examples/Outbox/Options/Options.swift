import Foundation

/// The meaning of the command line.
enum Invocation: Equatable, Sendable {
  /// The help for a command; nil for all commands.
  case help(Verb?)
  case enqueue(folder: String, database: Database)
  case digest(database: Database)
  case run(RunOptions)
  case status(database: Database)
  case serve(ServeOptions)
}

/// The options of sending.
struct RunOptions: Equatable, Sendable {
  var database = Database.usual
  var server: URL
  /// How many messages are sent at once.
  var width = 4
  /// The minimum time of each step, to leave time to watch and to kill.
  var pace = Duration.zero
  /// How long running messages may go on when the program should end.
  var grace = Duration.seconds(5)
  /// Whether the program goes on when everything is sent.
  var stays = false
  /// Whether the program ends at the end of its standard input.
  var endsWithInput = false
}

/// The options of the bundled server.
struct ServeOptions: Equatable, Sendable {
  var port: UInt16 = 8025
  var log = "received.jsonl"
  /// The share of requests that get trouble instead of an answer.
  var failure = 0.0
  var seed: UInt64 = 1
  /// Whether the program ends at the end of its standard input.
  var endsWithInput = false
}
