import CompositeOperationsCommandLine
import Foundation

extension OptionParser {
  /// The environment variable that names the default place.
  static let variable = "DURABLE_QUEUE"

  /// Returns the place of the queue that a command uses.
  ///
  /// - Parameters:
  ///   - word: the first word after the command; nil if there is none.
  ///   - schema: the value of `--schema`.
  ///   - usual: the place that the environment names.
  static func place(
    _ word: String?, schema: String?, usual: String?, verb: Verb
  ) throws(UsageError) -> QueuePlace {
    let example = "durable-queue \(verb.rawValue) \(verb.example)"
    switch word {
    case nil, "-":
      guard let usual, !usual.isEmpty else {
        let problem = word == nil ? "No place was given to \(verb.rawValue)" : "- stands for the place in $\(variable)"
        throw UsageError(problem: "\(problem), and $\(variable) is not set.", remedy: "For example: \(example)")
      }
      return try place(usual, schema: schema)
    // A script has forgotten an argument, and does not mean another place.
    case "":
      throw UsageError(
        problem: "The place that was given to \(verb.rawValue) is empty.", remedy: "For example: \(example)")
    case let word?: return try place(word, schema: schema)
    }
  }

  private static func place(_ word: String, schema: String?) throws(UsageError) -> QueuePlace {
    if let parts = word.firstMatch(of: /^([A-Za-z][A-Za-z0-9+.-]*):\/\//) {
      let scheme = parts.1.lowercased()
      guard ["postgresql", "postgres"].contains(scheme) else {
        throw UsageError(
          problem: "A place cannot begin with \(parts.0).",
          remedy: "Give the path of a file, or the URL of a server, for example: postgresql://app@db.example.org/shop")
      }
      return .server(url: scheme + word.dropFirst(parts.1.count), schema: schema ?? QueuePlace.usualSchema)
    }
    if HiddenPassword.isConnectionString(word), !FileManager.default.fileExists(atPath: word) {
      throw UsageError(
        problem: "“\(HiddenPassword.hiding(in: word))” is no file.",
        remedy: "Give a server as a URL, for example: postgresql://app@db.example.org/shop")
    }
    if schema != nil {
      throw UsageError(
        problem: "--schema is for a server, and “\(word)” is a file.",
        remedy: "Leave it out, or give a URL, for example: postgresql://app@db.example.org/shop")
    }
    return .file(word)
  }

  /// The value of an option that names something of a server.
  static func name(_ option: String, in arguments: Arguments) throws(UsageError) -> String? {
    guard let name = arguments.value(option) else { return nil }
    let isPlain = name.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    guard name.utf8.count <= 63 else {
      throw arguments.wrong(option, "Give a name of 63 bytes at most; this one has \(name.utf8.count)")
    }
    guard isPlain, !name.utf8.contains("$$".utf8) else {
      throw arguments.wrong(option, "Give a name of 63 bytes at most, without line breaks and $$")
    }
    return name
  }
}
