import Foundation

/// What the command line asks for.
struct Options: Equatable, Sendable {
  /// The files and folders to check, as they were written.
  var paths: [String] = []

  /// The folder that site-absolute links (`/guide.md`) start at and that no link may leave; found by itself when nil.
  var root: String?

  /// Whether the report is JSON.
  var json = false

  /// Whether web links are left alone.
  var offline = false

  /// Whether unreachable links fail the check too.
  var strict = false

  /// Where a page goes that shows what ran when; nil for no such page.
  var timeline: String?

  /// Whether only the help is to be printed.
  var showsHelp = false

  /// How many files are read, and how many hosts are asked, at the same time.
  var width = 8

  /// How many requests one host gets at the same time.
  var perHost = 2

  /// How long one request may take.
  var timeout = Duration.seconds(15)

  /// How often a request is made again after a failure that may pass.
  var retries = 2

  /// The pause before the first retry; each further one is twice as long.
  var retryDelay = Duration.seconds(1)
}
