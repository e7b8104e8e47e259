import CompositeOperationsCommandLine
import DurableOperations

/// Reads the command line.
struct OptionParser {
  let verb: Verb
  /// Without passwords, so that no message shows one.
  let arguments: Arguments
  /// As they were given, for names that look like addresses with a password.
  let given: Arguments
  /// The words after the place.
  let words: ArraySlice<String>
  /// Whether the environment names a place.
  var hasUsualPlace = false

  /// Parses a command line.
  ///
  /// - Parameters:
  ///   - given: the arguments, without the name of the program.
  ///   - environment: may name the default place.
  static func parse(_ given: [String], environment: [String: String] = [:]) throws(UsageError) -> Invocation {
    let arguments = given.map(HiddenPassword.hiding)
    guard let first = arguments.first else {
      throw UsageError(problem: "No command was given.", remedy: "For example: durable-queue stats jobs.sqlite")
    }
    if ["--help", "-h", "help"].contains(first) {
      return .help(arguments.count > 1 ? try verb(arguments[1], then: nil) : nil)
    }
    if first == "--version" { return .version }
    let verb = try verb(first, then: arguments.dropFirst().first)
    func parse(_ arguments: [String]) throws(UsageError) -> Arguments {
      try Arguments(
        arguments.dropFirst(), options: verb.options, command: verb.rawValue,
        help: "durable-queue \(verb.rawValue) --help lists the options.")
    }
    let parsed = try parse(arguments)
    if parsed.has("--help") { return .help(verb) }
    let schema = try name("--schema", in: parsed)
    guard verb != .schema else { return .printSchema(try schemaScript(parsed, schema ?? QueuePlace.usualSchema)) }
    let usual = environment[variable]
    // Opening the place needs the whole URL.
    let word = parsed.words.first.map { word in arguments.firstIndex(of: word).map { given[$0] } ?? word }
    let place = try place(word, schema: schema, usual: usual, verb: verb)
    let parser = OptionParser(
      verb: verb, arguments: parsed, given: try parse(given), words: parsed.words.dropFirst(),
      hasUsualPlace: usual?.isEmpty == false)
    return .run(
      Request(
        place: place, verb: verb, action: try parser.action(), isJSON: parsed.has("--json"),
        isDryRun: parsed.has("--dry-run"), isConfirmed: parsed.has("--yes")))
  }

  private static func schemaScript(_ parsed: Arguments, _ schema: String) throws(UsageError) -> SchemaScript {
    let parser = OptionParser(verb: .schema, arguments: parsed, given: parsed, words: parsed.words[...])
    if let word = parsed.words.first {
      throw parser.wrong("schema takes no place, and “\(word)” was given to it.", "Leave it out")
    }
    guard parsed.has("--print") else {
      throw parser.wrong("schema prints SQL, and runs none.", "Say --print")
    }
    return SchemaScript(schema: schema, role: try name("--role", in: parsed))
  }

  private static func verb(_ word: String, then second: String?) throws(UsageError) -> Verb {
    if let verb = Verb(rawValue: word) { return verb }
    if let second, Verb(rawValue: second) != nil {
      throw UsageError(
        problem: "“\(word)” is not a command.", remedy: "Write the command first: durable-queue \(second) \(word)")
    }
    // Other queues call it so.
    let nearest =
      word == "drain"
      ? Verb.deleteUnstarted.rawValue : Suggestion.nearest(to: word, among: Verb.allCases.map(\.rawValue))
    throw UsageError(
      problem: "“\(word)” is not a command.",
      remedy: nearest.map { "Did you mean \($0)?" } ?? "durable-queue --help lists the commands.")
  }

  private func action() throws(UsageError) -> Action {
    switch verb {
    case .list:
      try refuseWords()
      return .list(try page())
    case .stats:
      try refuseWords()
      return .stats
    case .periodic:
      try refuseWords()
      return .periodic
    case .export:
      try refuseWords()
      return .export(try filter())
    case .deleteUnstarted:
      try refuseWords()
      return .change(try deleteUnstarted())
    case .show: return .show(try ids(words))
    case .retry: return .change(try retry())
    case .cancel: return .change(.jobs(try ids(words), .cancel))
    case .hold: return .change(.jobs(try ids(words), .hold))
    case .delete: return .change(try delete())
    case .priority: return .change(try priority())
    case .compact:
      try refuseWords()
      return .compact
    case .workers:
      try refuseWords()
      return .workers
    case .doctor:
      try refuseWords()
      return .doctor
    case .schema: preconditionFailure("schema has no place, and does nothing to one")
    case .pause: return .change(.pause(kinds: try kinds(), evenNew: arguments.has("--new")))
    case .resume: return .change(.resume(kinds: try kinds()))
    case .limit: return .change(try limit())
    case .unschedule: return .change(.unschedule(names: try names(of: "periodic job")))
    }
  }

  private func page() throws(UsageError) -> Page {
    var page = Page(filter: try filter())
    page.limit =
      try arguments.integer("--limit", in: 1...1_000_000) ?? (arguments.has("--json") ? nil : Page.inATable)
    if let text = arguments.value("--after") {
      guard let id = Self.id(text) else { throw arguments.wrong("--after", "Give the number of a job") }
      page.after = id
    }
    return page
  }

  private func filter() throws(UsageError) -> Filter {
    Filter(kind: try kind(), states: try states())
  }

  private func retry() throws(UsageError) -> Change {
    let states = [("--all-dead", DurableQueue.RetriableState.dead), ("--all-held", .held)].filter {
      arguments.has($0.0)
    }
    guard let (option, state) = states.first else {
      if arguments.has("--kind") {
        throw wrong(
          "--kind was given without --all-dead or --all-held, and chooses among those.",
          "Add one of the two, or leave --kind out and give numbers of jobs")
      }
      return .jobs(try ids(words), .retry)
    }
    guard states.count == 1 else { throw wrong("Both --all-dead and --all-held were given.", "Run it once for each") }
    guard words.isEmpty else { throw wrong("Both \(option) and numbers of jobs were given.", "Give one of the two") }
    return .all(.retry(state, kind: try kind()))
  }

  private func delete() throws(UsageError) -> Change {
    guard let states = try states() else {
      if arguments.has("--kind") {
        throw wrong(
          "--kind was given without --state, and chooses among the jobs in a state.",
          "Add a state, or leave --kind out and give numbers of jobs", example: "jobs.sqlite --state done --kind mail")
      }
      return .jobs(try ids(words), .delete)
    }
    guard words.isEmpty else { throw wrong("Both --state and numbers of jobs were given.", "Give one of the two") }
    return .all(.delete(states, kind: try kind()))
  }

  private func deleteUnstarted() throws(UsageError) -> Change {
    switch (try kind(), arguments.has("--all")) {
    case (let kind?, false): return .all(.deleteUnstarted(kind: kind))
    case (nil, true): return .all(.deleteUnstarted(kind: nil))
    case (_?, true): throw wrong("Both --kind and --all were given.", "Give one of the two")
    case (nil, false):
      throw wrong(
        "delete-unstarted deletes jobs for good, and was not told which.",
        "Give --kind KIND for those of one kind, or --all for those of all kinds")
    }
  }

  private func limit() throws(UsageError) -> Change {
    let count = try arguments.integer("--to", in: 1...1_000_000_000)
    switch (count, arguments.has("--none")) {
    case (_?, false), (nil, true):
      return .limit(kinds: try kinds(), to: count, evenNew: arguments.has("--new"))
    case (_?, true): throw wrong("Both --to and --none were given.", "Give one of the two")
    case (nil, false):
      throw wrong("limit was not told how many.", "Give --to N, or --none for as many as there is room for")
    }
  }

  private func priority() throws(UsageError) -> Change {
    if let kind = try kind() {
      let example = "jobs.sqlite --kind \(HiddenPassword.hiding(in: kind)) 20"
      guard let text = words.last else { throw wrong("No priority was given.", "Give one", example: example) }
      guard words.count == 1 else {
        throw wrong("Both --kind and numbers of jobs were given.", "Give one of the two", example: example)
      }
      let (major, minor) = try priority(text)
      return .all(.priority(major: major, minor: minor, kind: kind))
    }
    guard words.count > 1, let text = words.last else {
      throw wrong("A number of a job and a priority are needed.", "Give both")
    }
    let (major, minor) = try priority(text)
    return .jobs(
      try ids(words.dropLast()), .priority(JobPriority(major: major, minor: minor ?? JobPriority.normal.minor)))
  }
}
