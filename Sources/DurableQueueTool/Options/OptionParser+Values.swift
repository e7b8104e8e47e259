import CompositeOperationsCommandLine
import DurableOperations
import Foundation

extension OptionParser {
  /// The value of `--kind`. Given several times, only the last would count, and silently.
  func kind() throws(UsageError) -> String? {
    guard arguments.values("--kind").count < 2 else {
      throw wrong("--kind was given \(arguments.values("--kind").count) times.", "Run it once for each kind")
    }
    return arguments.value("--kind").map { name(given.value("--kind") ?? $0, shown: $0) }
  }

  /// The value of `--state`; nil if it was not given.
  func states() throws(UsageError) -> Set<JobState>? {
    guard arguments.has("--state") else { return nil }
    var states: Set<JobState> = []
    for value in arguments.values("--state") {
      for name in value.split(separator: ",", omittingEmptySubsequences: false) {
        states.insert(try state(name.trimmingCharacters(in: .whitespaces), in: value))
      }
    }
    return states
  }

  private func state(_ name: String, in value: String) throws(UsageError) -> JobState {
    if let state = JobState(name: name.lowercased()) { return state }
    let all = JobState.allCases.map(\.description)
    guard !name.isEmpty else {
      throw UsageError(
        problem: "A state is missing in “\(value)”, which --state was given.",
        remedy: "Give one state, or several with a comma between two of them, for example: --state dead,held")
    }
    throw UsageError(
      problem: "“\(name)” is not a state.",
      remedy: Suggestion.nearest(to: name, among: all).map { "Did you mean \($0)?" }
        ?? "The states are \(all.joined(separator: ", ")).")
  }

  /// For a command that takes a place and nothing else.
  func refuseWords() throws(UsageError) {
    guard let word = words.first else { return }
    let problem = "\(verb.rawValue) takes one place, and “\(word)” was given after it."
    if verb.options.contains(where: { $0.key == "--state" }), let state = JobState(name: word.lowercased()) {
      throw UsageError(problem: problem, remedy: "Did you mean --state \(state)?")
    }
    let hasValues = verb.options.contains { $0.value != nil }
    throw wrong(problem, "Leave it out\(hasValues ? ", or write the option that it belongs to before it" : "")")
  }

  func ids(_ words: ArraySlice<String>) throws(UsageError) -> [JobID] {
    let example = verb == .priority ? verb.example : "jobs.sqlite 7"
    guard !words.isEmpty else {
      throw wrong("No number of a job was given.", remedyForNone("Give one or more"), example: example)
    }
    var ids: [JobID] = []
    for word in words {
      guard let id = Self.id(word) else {
        // The place comes first.
        if let place = arguments.words.first, Self.id(place) != nil {
          throw wrong(
            "“\(place)” was taken for the place, and “\(word)” for a job.", "Give the place first", example: example)
        }
        throw wrong("“\(word)” is no number of a job.", "Give a whole number from 1 on", example: example)
      }
      if !ids.contains(id) { ids.append(id) }
    }
    return ids
  }

  /// The number of a job, with or without a # before it.
  static func id(_ text: String) -> JobID? {
    guard let number = Int64(text.hasPrefix("#") ? text.dropFirst() : text[...]), number > 0 else { return nil }
    return JobID(rawValue: number)
  }

  /// `minor` is nil if none was given.
  func priority(_ text: String) throws(UsageError) -> (major: Int, minor: Int?) {
    let levels = text.split(separator: ",", omittingEmptySubsequences: false).map { Int($0) }
    guard levels.count <= 2, let major = levels[0], levels.last != .some(nil) else {
      throw wrong("“\(text)” is no priority.", "Give a whole number, or two with a comma between them")
    }
    return (major, levels.count > 1 ? levels[1] : nil)
  }

  func kinds() throws(UsageError) -> [String] {
    guard !words.contains("") else { throw wrong("The name of a kind is empty.", "Name one or more") }
    return try names(of: "kind")
  }

  /// The words after the place, each once.
  func names(of thing: String) throws(UsageError) -> [String] {
    guard !words.isEmpty else { throw wrong("No \(thing) was given.", remedyForNone("Name one or more")) }
    var names: [String] = []
    for (word, whole) in zip(words, given.words.dropFirst()) {
      let name = name(whole, shown: word)
      // By their bytes, as the databases compare names.
      if !names.contains(where: { $0.utf8.elementsEqual(name.utf8) }) { names.append(name) }
    }
    return names
  }

  /// A name as it was given. The address of a server, which has a password and is in the wrong
  /// place, stays as it may be shown.
  private func name(_ given: String, shown: String) -> String {
    let isServer = ["postgres://", "postgresql://"].contains { given.lowercased().hasPrefix($0) }
    return isServer || HiddenPassword.isConnectionString(given) ? shown : given
  }

  /// The single word may have been meant for something other than the place.
  private func remedyForNone(_ remedy: String) -> String {
    hasUsualPlace ? "\(remedy) behind the place, which is - for the one in $\(Self.variable)" : remedy
  }

  /// - Parameter example: what follows the command; nil for the example of its help.
  func wrong(_ problem: String, _ remedy: String, example: String? = nil) -> UsageError {
    UsageError(
      problem: problem,
      remedy: "\(remedy), for example: durable-queue \(verb.rawValue) \(example ?? verb.example)")
  }
}
