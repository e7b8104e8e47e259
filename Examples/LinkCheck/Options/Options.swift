import ExampleSupport
import Foundation

/// What the command line asks for.
struct Options: Equatable, Sendable {
  /// The files and folders to check, as they were written.
  var paths: [String] = []

  /// The folder that site-absolute links (`/guide.md`) start at and that no link may leave; found
  /// by itself when nil.
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

  /// The pause before the first retry; each further one is twice as long, up to half a minute.
  var retryDelay = Duration.seconds(1)
}

/// Reads the command line.
enum OptionParser {
  private static let known: Arguments.Options = [
    "--json": nil, "--offline": nil, "--strict": nil, "--help": nil, "--width": "8", "--per-host": "2",
    "--timeout": "15", "--retries": "2", "--retry-delay": "0.5", "--root": ".", "--timeline": "timeline.html",
  ]

  /// The options that `arguments`, without the name of the program, stand for.
  static func parse(_ arguments: some Sequence<String>) throws(UsageError) -> Options {
    let parsed = try Arguments(
      arguments, options: known, help: "LinkCheck --help lists the options. A file of that name is given after --.")
    var options = Options()
    options.showsHelp = parsed.has("--help")
    guard !options.showsHelp else { return options }
    options.paths = parsed.words
    options.json = parsed.has("--json")
    options.offline = parsed.has("--offline")
    options.strict = parsed.has("--strict")
    options.width = try parsed.integer("--width", in: 1...1_000) ?? options.width
    options.perHost = try parsed.integer("--per-host", in: 1...100) ?? options.perHost
    options.retries = try parsed.integer("--retries", in: 0...20) ?? options.retries
    options.timeout = try seconds("--timeout", in: 0.01...3_600, of: parsed) ?? options.timeout
    options.retryDelay = try seconds("--retry-delay", in: 0...60, of: parsed) ?? options.retryDelay
    options.root = parsed.value("--root")
    options.timeline = parsed.value("--timeline")
    if options.paths.isEmpty {
      throw UsageError(
        problem: "No file or folder to check was given.",
        remedy: "Name some, for example: LinkCheck README.md Documentation")
    }
    return options
  }

  private static func seconds(
    _ name: String, in range: ClosedRange<Double>, of parsed: Arguments
  ) throws(UsageError) -> Duration? {
    try parsed.number(name, in: range, meaning: "seconds").map { .seconds($0) }
  }
}

/// What `--help` prints.
enum Help {
  static let text = """
    LinkCheck: checks the links of Markdown and HTML files.

    usage: LinkCheck [options] path …

    A path is a Markdown (.md, .markdown) or HTML (.html, .htm) file, or a folder that is searched for such files.
    Hidden files and folders are left out. Relative links and their #anchors are checked against the files, http and
    https links are requested once each, the others (mailto:, tel:, …) are counted.

    options:
      --offline              leave http and https links alone
      --strict               fail for unreachable links too, not only for broken ones
      --json                 print the report as JSON
      --width NUMBER         files read, and hosts asked, at the same time (default: 8)
      --per-host NUMBER      requests to one host at the same time (default: 2)
      --timeout SECONDS      how long one request may take (default: 15)
      --retries NUMBER       how often to ask again after 429, 5xx and failed connections (default: 2)
      --retry-delay SECONDS  pause before the first retry, doubled for each further one up to 30 seconds
                             (default: 1); a server's Retry-After is honoured instead
      --root FOLDER          where links like /guide.md start, and which no link may leave (default: the Git work
                             tree that a path is in, else the current folder, else the path's own folder)
      --timeline FILE.html   write a page that shows what ran when
      --help, -h             print this
      --                     what follows are paths, even if it begins with a dash

    exit status:
      0    all links are good (without --strict, some may be unreachable)
      1    there are broken links or unreadable files, or the report or the timeline could not be written
      2    the command line is wrong
      130  interrupted with Ctrl-C, or 143 with SIGTERM; what was found so far is printed

    The report goes to the standard output, progress to the standard error output.

    """
}
