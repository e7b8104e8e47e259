import CommandLineSupport
import DurableOperations
import Foundation

/// Reads the command line.
struct OptionParser {
  private let verb: Verb
  private let arguments: Arguments
  /// The words behind the file.
  private let words: ArraySlice<String>

  /// What `arguments`, without the name of the program, ask for.
  static func parse(_ arguments: [String]) throws(UsageError) -> Invocation {
    guard let first = arguments.first else {
      throw UsageError(problem: "No command was given.", remedy: "For example: durable-queue stats jobs.sqlite")
    }
    if ["--help", "-h", "help"].contains(first) {
      return .help(arguments.count > 1 ? try verb(arguments[1], then: nil) : nil)
    }
    let verb = try verb(first, then: arguments.dropFirst().first)
    let parsed = try Arguments(arguments.dropFirst(), options: verb.options, program: "durable-queue \(verb.rawValue)")
    if parsed.has("--help") { return .help(verb) }
    guard let file = parsed.words.first, !file.isEmpty else {
      throw UsageError(
        problem: "No file was given to \(verb.rawValue).",
        remedy: "For example: durable-queue \(verb.rawValue) \(verb.example)")
    }
    let parser = OptionParser(verb: verb, arguments: parsed, words: parsed.words.dropFirst())
    return .run(Request(file: file, action: try parser.action(), isJSON: parsed.has("--json")))
  }

  private static func verb(_ word: String, then second: String?) throws(UsageError) -> Verb {
    if let verb = Verb(rawValue: word) { return verb }
    if let second, Verb(rawValue: second) != nil {
      throw UsageError(
        problem: "“\(word)” is not a command.", remedy: "Write the command first: durable-queue \(second) \(word)")
    }
    let nearest = Suggestion.nearest(to: word, among: Verb.allCases.map(\.rawValue))
    throw UsageError(
      problem: "“\(word)” is not a command.",
      remedy: nearest.map { "Did you mean \($0)?" } ?? "durable-queue --help lists the commands.")
  }

  private func action() throws(UsageError) -> Action {
    switch verb {
    case .list:
      try refuseWords()
      var page = Page(filter: try filter())
      page.limit = try arguments.integer("--limit", in: 1...1_000_000) ?? page.limit
      if let text = arguments.value("--after") {
        guard let id = Self.id(text) else { throw arguments.wrong("--after", "Give the number of a job") }
        page.after = id
      }
      return .list(page)
    case .stats:
      try refuseWords()
      return .stats
    case .export:
      try refuseWords()
      return .export(try filter())
    case .drain:
      try refuseWords()
      return .change(.drain(kind: arguments.value("--kind")))
    case .show: return .show(try ids(words))
    case .retry: return .change(try retry())
    case .cancel: return .change(.cancel(try ids(words)))
    case .hold: return .change(.hold(try ids(words)))
    case .delete: return .change(.delete(try ids(words)))
    case .priority: return .change(try priority())
    case .pause: return .change(.pause(try kinds()))
    case .resume: return .change(.resume(try kinds()))
    }
  }

  private func retry() throws(UsageError) -> Change {
    let states = [("--all-dead", DurableQueue.RetriableState.dead), ("--all-held", .held)].filter {
      arguments.has($0.0)
    }
    guard let (option, state) = states.first else {
      if arguments.has("--kind") {
        throw wrong("--kind stands alone.", "It goes with --all-dead or --all-held, for jobs that are named by kind")
      }
      return .retry(try ids(words))
    }
    guard states.count == 1 else { throw wrong("Both --all-dead and --all-held were given.", "Run it once for each") }
    guard words.isEmpty else { throw wrong("Both \(option) and numbers of jobs were given.", "Give one of the two") }
    return .retryAll(state, kind: arguments.value("--kind"))
  }

  private func priority() throws(UsageError) -> Change {
    guard words.count > 1, let text = words.last else {
      throw wrong("A number of a job and a priority are needed.", "Give both")
    }
    let levels = text.split(separator: ",", omittingEmptySubsequences: false).map { Int($0) }
    guard levels.count <= 2, let major = levels[0], let minor = levels.count > 1 ? levels[1] : JobPriority.normal.minor
    else { throw wrong("“\(text)” is no priority.", "Give a whole number, or two with a comma between them") }
    return .priority(try ids(words.dropLast()), JobPriority(major: major, minor: minor))
  }

  private func kinds() throws(UsageError) -> [String] {
    guard !words.isEmpty, !words.contains("") else { throw wrong("No kind was given.", "Name one") }
    return Array(words)
  }

  private func filter() throws(UsageError) -> Filter {
    var states: Set<JobState> = []
    for name in arguments.values("--state").flatMap({ $0.split(separator: ",").map(String.init) }) {
      guard let state = JobState(name: name.lowercased()) else {
        let all = JobState.allCases.map(\.description)
        let nearest = Suggestion.nearest(to: name, among: all)
        throw UsageError(
          problem: "“\(name)” is not a state.",
          remedy: nearest.map { "Did you mean \($0)?" } ?? "The states are \(all.joined(separator: ", ")).")
      }
      states.insert(state)
    }
    return Filter(kind: arguments.value("--kind"), states: arguments.has("--state") ? states : nil)
  }

  private func refuseWords() throws(UsageError) {
    guard let word = words.first else { return }
    throw wrong("\(verb.rawValue) takes no “\(word)”.", "Give one file, and options")
  }

  private func ids(_ words: ArraySlice<String>) throws(UsageError) -> [JobID] {
    guard !words.isEmpty else { throw wrong("No number of a job was given.", "Give one or more") }
    var ids: [JobID] = []
    for word in words {
      guard let id = Self.id(word) else {
        throw wrong("“\(word)” is no number of a job.", "Give a whole number from 1 on")
      }
      if !ids.contains(id) { ids.append(id) }
    }
    return ids
  }

  /// A number, as it is or as it is shown, with a sign before it.
  private static func id(_ text: String) -> JobID? {
    guard let number = Int64(text.hasPrefix("#") ? text.dropFirst() : text[...]), number > 0 else { return nil }
    return JobID(rawValue: number)
  }

  private func wrong(_ problem: String, _ remedy: String) -> UsageError {
    UsageError(
      problem: problem, remedy: "\(remedy), for example: durable-queue \(verb.rawValue) \(verb.example)")
  }
}
