import CompositeOperations
import Foundation

/// A JSON object in one line, without characters that a terminal would obey.
struct JSONLine: ~Copyable {
  private var text = JSONText()

  /// Adds a member with a text, a number or a Boolean, unless the value is nil.
  @inline(__always)
  mutating func add<T>(_ name: StaticString, _ value: T?) {
    guard let value else { return }
    begin(name)
    if text.append(plain: value) != true { text.append(json: "null") }
  }

  mutating func add(_ name: StaticString, _ date: Date?) {
    guard let date else { return }
    begin(name)
    text.append(quoted: RFC3339.text(of: date))
  }

  /// Adds a list of numbers, which is not empty.
  mutating func add(_ name: StaticString, _ numbers: some Collection<Int64>) {
    begin(name)
    var separator = UInt8(ascii: "[")
    for number in numbers {
      text.append(byte: separator)
      text.append(number)
      separator = UInt8(ascii: ",")
    }
    text.append(byte: UInt8(ascii: "]"))
  }

  /// Adds a list of objects, which is not empty.
  mutating func add(_ name: StaticString, _ failures: [JobRecord.Failure]) {
    begin(name)
    var separator = UInt8(ascii: "[")
    for failure in failures {
      text.append(byte: separator)
      text.append(json: "{\"at\":")
      text.append(quoted: RFC3339.text(of: failure.failedAt))
      text.append(json: ",\"attempt\":")
      text.append(Int64(failure.attempt))
      text.append(json: ",\"error\":")
      text.append(quoted: failure.error)
      text.append(byte: UInt8(ascii: "}"))
      separator = UInt8(ascii: ",")
    }
    text.append(byte: UInt8(ascii: "]"))
  }

  /// Adds JSON unchanged: decoding it could change its numbers. Line ends between its tokens become
  /// spaces.
  mutating func add(_ name: StaticString, json: Data) {
    begin(name)
    json.withUnsafeBytes { bytes in
      for byte in bytes {
        text.append(byte: byte == 0x09 || byte == 0x0A || byte == 0x0D ? UInt8(ascii: " ") : byte)
      }
    }
  }

  private mutating func begin(_ name: StaticString) {
    text.append(byte: text.count == 0 ? UInt8(ascii: "{") : UInt8(ascii: ","))
    text.append(byte: UInt8(ascii: "\""))
    text.append(json: name)
    text.append(json: "\":")
  }

  /// Returns the object, which must have a member. Characters that a terminal would obey become
  /// escapes: in JSON they stand only in texts.
  consuming func finished() -> String {
    text.append(byte: UInt8(ascii: "}"))
    return HarmlessText.json(text.string)
  }
}
