import CompositeOperations
import Foundation

extension TelemetryEvent {
  /// The time and the description.
  var textLine: String { "\(timeText) \(self)" }

  /// An object of JSON.
  var jsonLine: String {
    var object = JSONObject()
    object.add("time", timeText)
    object.add("level", "\(level)")
    object.add("library", library)
    object.add("source", source.map(ErrorReport.shortened))
    object.add("event", kind.rawValue)
    object.add("subject", ErrorReport.shortened(subject))
    object.add("name", name.map(ErrorReport.shortened))
    object.add(number: "id", id)
    object.add(number: "parent", parentID)
    object.add(number: "attempt", attempt)
    object.add(number: "duration", duration.map { $0 / .seconds(1) })
    object.add("error", error.map(OperationError.describe))
    return object.text
  }

  private var timeText: String { time.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)) }
}

/// An object of JSON in one line, without control characters.
private struct JSONObject {
  private var members = ""

  var text: String { "{\(members)}" }

  mutating func add(_ name: StaticString, _ text: String?) {
    guard let text else { return }
    begin(name)
    members += HarmlessText.quotedJSON(text)
  }

  mutating func add(number name: StaticString, _ number: (some CustomStringConvertible)?) {
    guard let number else { return }
    begin(name)
    members += number.description
  }

  private mutating func begin(_ name: StaticString) {
    members += members.isEmpty ? "\"\(name)\":" : ",\"\(name)\":"
  }
}
