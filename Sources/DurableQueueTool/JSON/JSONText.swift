import CompositeOperations

/// JSON that keeps the order of its keys.
enum JSONText: Sendable, ExpressibleByDictionaryLiteral {
  case null
  case bool(Bool)
  case integer(Int64)
  case string(String)
  case array([JSONText])
  case object([(String, JSONText)])
  /// Text that already is JSON, on one line.
  case verbatim(String)

  init(dictionaryLiteral elements: (String, JSONText)...) { self = .object(elements) }

  init(_ value: Int) { self = .integer(Int64(value)) }

  /// The JSON on one line.
  var text: String {
    var text = ""
    write(to: &text)
    return text
  }

  private func write(to text: inout String) {
    switch self {
    case .null: text += "null"
    case .bool(let value): text += value ? "true" : "false"
    case .integer(let value): text += String(value)
    case .string(let value): text += HarmlessText.quotedJSON(value)
    case .verbatim(let value): text += value
    case .array(let elements):
      text += "["
      for (index, element) in elements.enumerated() {
        if index > 0 { text += "," }
        element.write(to: &text)
      }
      text += "]"
    case .object(let pairs):
      text += "{"
      for (index, (key, value)) in pairs.enumerated() {
        if index > 0 { text += "," }
        text += HarmlessText.quotedJSON(key)
        text += ":"
        value.write(to: &text)
      }
      text += "}"
    }
  }
}
