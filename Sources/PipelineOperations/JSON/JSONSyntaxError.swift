public import Foundation

/// An error in JSON: where it is malformed, and why.
public struct JSONSyntaxError: Error, Sendable, Equatable {
  /// What is wrong.
  ///
  /// More codes may come: a `switch` over them needs a `default`.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The JSON ends too early.
    public static let unexpectedEnd = Code(value: .unexpectedEnd)
    /// Another character is expected here.
    public static let unexpectedCharacter = Code(value: .unexpectedCharacter)
    /// A number is not written as JSON requires, or is too large for a `Double`.
    public static let invalidNumber = Code(value: .invalidNumber)
    /// A string has a control character, or an escape that JSON does not have.
    public static let invalidString = Code(value: .invalidString)
    /// The bytes are not UTF-8.
    public static let invalidEncoding = Code(value: .invalidEncoding)
    /// Arrays and objects are nested more than 512 levels deep.
    public static let tooDeep = Code(value: .tooDeep)
    /// Something follows the end of the JSON.
    public static let trailingContent = Code(value: .trailingContent)

    /// The code in a word, such as `unexpectedEnd`.
    public var description: String { value.rawValue }

    /// What the library itself switches on, without a `default`.
    enum Value: String {
      case unexpectedEnd, unexpectedCharacter, invalidNumber, invalidString, invalidEncoding, tooDeep, trailingContent
    }

    let value: Value
  }

  /// What is wrong, to switch on.
  public let code: Code
  /// The number of bytes before the first mistake.
  public let byteOffset: Int
  /// The line of the first mistake, from 1.
  public let line: Int
  /// The byte of the mistake in that line, from 1.
  public let column: Int
  /// What is wrong, in words.
  package let reason: String

  init(_ mistake: JSONParser.Mistake, in bytes: UnsafeRawBufferPointer) {
    code = mistake.code
    byteOffset = mistake.offset
    reason = mistake.reason
    let before = bytes.prefix(mistake.offset)
    let newline = UInt8(ascii: "\n")
    line = before.count { $0 == newline } + 1
    column = mistake.offset - (before.lastIndex(of: newline).map { $0 + 1 } ?? 0) + 1
  }
}

extension JSONSyntaxError: LocalizedError, CustomStringConvertible {
  /// The sentence: where the JSON is malformed, and why.
  public var description: String {
    "The JSON is malformed at byte \(byteOffset) (line \(line), column \(column)): \(reason)."
  }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
