import Foundation

/// What the command line asks for.
struct Options: Equatable, Sendable {
  /// The cities, as they were written.
  var cities: [String] = []

  /// The server to ask; nil for the bundled one.
  var server: URL?

  /// How many days to show.
  var days = 7

  /// What decides about the weather of the bundled server, and about when it is busy.
  var seed: UInt64 = 3

  /// The first day of the bundled server's forecasts; nil for today.
  var date: Day?

  /// How many requests a token of the bundled server is good for.
  var tokenUses = 5

  /// How many requests are made in a second on average, and as many at once. Retries at a busy
  /// server and requests for tokens do not count.
  var rate = 5

  /// Whether to tell what happens to each request.
  var verbose = false

  /// Where a page goes that shows what ran when; nil for no such page.
  var timeline: String?

  /// Whether only the help is to be printed.
  var showsHelp = false
}
