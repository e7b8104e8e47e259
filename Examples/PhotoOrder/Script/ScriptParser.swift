import ExampleSupport
import Foundation

/// A line of a script that is to be carried out.
struct ScriptLine: Equatable, Sendable {
  /// The number of the line, from 1.
  let number: Int
  /// The line as it was written, without its comment.
  let text: String
  let command: Command
}

/// Reads scripts.
struct ScriptParser {
  /// What the script is called in messages.
  let name: String
  /// The names of the tasks, in the order of the table.
  let tasks: [String]

  private static let commands = [
    "start", "fulfill", "reject", "cancel", "retry", "reset", "hold", "release", "wait", "show", "quit",
  ]

  /// The commands in `text`. The first line that is none is thrown.
  func parse(_ text: String) throws(UsageError) -> [ScriptLine] {
    var lines: [ScriptLine] = []
    // In Swift "\r\n" is one character, and a newline.
    for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
      let words = line.prefix { $0 != "#" }.split(whereSeparator: \.isWhitespace).map(String.init)
      guard let verb = words.first else { continue }
      let text = words.joined(separator: " ")
      let reader = LineReader(
        place: "\(name), line \(index + 1), \"\(text)\"", tasks: tasks, rest: words.dropFirst())
      lines.append(ScriptLine(number: index + 1, text: text, command: try reader.command(verb)))
    }
    return lines
  }

  /// Reads what comes after the verb of a line.
  private struct LineReader {
    let place: String
    let tasks: [String]
    let rest: ArraySlice<String>

    func command(_ verb: String) throws(UsageError) -> Command {
      switch verb.lowercased() {
      case "start": return .act(.start, try target())
      case "cancel": return .act(.cancel, try target())
      case "retry": return .act(.retry, try target())
      case "reset": return .act(.reset, try target())
      case "fulfill", "fulfil": return .act(.fulfill, try target(ofConditions: true))
      case "reject": return .act(.reject, try target(ofConditions: true))
      case "release": return .act(.release, try target(ofConditions: false))
      case "hold": return try hold()
      case "wait": return try wait()
      case "show":
        try expectEnd(after: "show")
        return .show
      case "quit":
        try expectEnd(after: "quit")
        return .quit
      default:
        let nearest = Suggestion.nearest(to: verb, among: ScriptParser.commands)
        throw wrong(
          "\(verb) is no command",
          nearest.map { "Did you mean \($0)?" } ?? "The commands are \(ScriptParser.commands.joined(separator: ", ")).")
      }
    }

    private func expectEnd(after verb: String) throws(UsageError) {
      guard !rest.isEmpty else { return }
      throw wrong("nothing can follow \(verb)", "Write \(verb) alone; a comment begins with #.")
    }

    private func hold() throws(UsageError) -> Command {
      let number = rest.last.map { $0.hasSuffix("%") ? String($0.dropLast()) : $0 }
      guard rest.count > 1, let number, let percent = Double(number), (0...100).contains(percent) else {
        throw wrong(
          "hold needs a task and a percentage from 0 to 100", "For example: hold \(TaskName.upload(1)) 50%")
      }
      return .act(.hold(percent / 100), .task(try task(rest.dropLast(), isCondition: false)))
    }

    private func wait() throws(UsageError) -> Command {
      guard let last = rest.last else { return .waitForEnd }
      let states = Standing.allCases.map(\.rawValue)
      guard let state = Standing(rawValue: last.lowercased()) else {
        let nearest = Suggestion.nearest(to: last, among: states)
        throw wrong(
          "\(last) is no state of a task",
          nearest.map { "Did you mean \($0)?" }
            ?? "Write one of \(states.joined(separator: ", ")) after the task, or wait alone to wait for the end.")
      }
      guard rest.count > 1 else {
        throw wrong("wait has a state, but no task", "For example: wait \(TaskName.project) \(state)")
      }
      let index = try task(rest.dropLast())
      if state == .held { try check(index, isCondition: false) }
      if state == .waiting { try check(index, isCondition: true) }
      return .wait(index, state)
    }

    /// - Parameter isCondition: the kind of task that it has to be; nil for any.
    private func target(ofConditions isCondition: Bool? = nil) throws(UsageError) -> Command.Target {
      guard !rest.isEmpty else {
        let example = isCondition == true ? TaskName.photo(1) : TaskName.upload(1)
        throw wrong("the task is missing", "Name one, such as \(example), or write all.")
      }
      if rest.count == 1, rest.first?.lowercased() == "all" { return .all }
      return .task(try task(rest, isCondition: isCondition))
    }

    private func task(_ words: ArraySlice<String>, isCondition: Bool? = nil) throws(UsageError) -> Int {
      let name = words.joined(separator: " ").trimmingCharacters(in: CharacterSet(charactersIn: "\"'"))
      let index: Int
      if let number = Int(name) {
        guard tasks.indices.contains(number - 1) else {
          throw wrong("there is no task \(number)", "The tasks are \(list(tasks.indices)).")
        }
        index = number - 1
      } else if let found = tasks.firstIndex(where: { $0.lowercased() == name.lowercased() }) {
        index = found
      } else {
        let nearest = Suggestion.nearest(to: name, among: tasks)
        throw wrong(
          "there is no task \(name)",
          nearest.map { "Did you mean \($0)?" } ?? "The tasks are \(list(tasks.indices)).")
      }
      if let isCondition { try check(index, isCondition: isCondition) }
      return index
    }

    private func check(_ index: Int, isCondition: Bool) throws(UsageError) {
      guard TaskName.isCondition(tasks[index]) != isCondition else { return }
      let others = tasks.indices.filter { TaskName.isCondition(tasks[$0]) == isCondition }
      throw wrong(
        isCondition ? "\(tasks[index]) is no condition" : "\(tasks[index]) is a condition, which does no work",
        isCondition ? "The conditions are \(list(others))." : "Tasks that work are \(list(others)).")
    }

    private func list(_ indices: some Sequence<Int>) -> String {
      indices.map { "\($0 + 1) \(tasks[$0])" }.joined(separator: ", ")
    }

    private func wrong(_ problem: String, _ remedy: String) -> UsageError {
      UsageError(problem: "\(place): \(problem).", remedy: remedy)
    }
  }
}
