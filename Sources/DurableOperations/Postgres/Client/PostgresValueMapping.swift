#if os(macOS) || os(Linux)
import CompositeOperationsPostgres
import Foundation

/// Converts the rows of the user's statements by the types of their columns. They arrive as text,
/// since the types are not known in advance.
enum PostgresValueMapping {
  /// The rows of a result in text form.
  static func rows(_ result: PostgresResult) -> [SQLRow] {
    let columns = result.columnNames
    let types = (0..<Int32(result.columnCount)).map {
      PostgresType(number: result.library.functions.ftype(result.handle, $0))
    }
    return result.map { SQLRow(columns: columns, values: values($0, types)) }
  }

  private static func values(_ row: PostgresRow, _ types: [PostgresType]) -> [SQLValue] {
    types.indices.map { value(row.text(Int32($0)), of: types[$0]) }
  }

  /// - Parameter text: the server's text; nil for NULL.
  static func value(_ text: String?, of type: PostgresType) -> SQLValue {
    guard let text else { return .null }
    return switch type {
    case .integer, .smallInteger, .shortInteger, .objectID: Int64(text).map { .integer($0) } ?? .text(text)
    case .boolean: .integer(text == "t" ? 1 : 0)
    case .real, .shortReal: Double(text).map { .real($0) } ?? .text(text)
    case .bytes: .blob(bytes(text))
    default: .text(text)
    }
  }

  /// Decodes a text of `bytea_output`: “\x00ff”, or with `escape` the characters themselves, “\\”
  /// and “\377”.
  private static func bytes(_ text: String) -> Data {
    let text = Array(text.utf8)
    func digit(_ character: UInt8) -> UInt8 { UInt8(Character(UnicodeScalar(character)).hexDigitValue ?? 0) }
    var data = Data(capacity: text.count)
    if text.starts(with: Array("\\x".utf8)) {
      for place in stride(from: 2, to: text.count - 1, by: 2) {
        data.append(digit(text[place]) << 4 | digit(text[place + 1]))
      }
      return data
    }
    var place = 0
    let backslash = UInt8(ascii: "\\")
    while place < text.count {
      if text[place] != backslash {
        data.append(text[place])
        place += 1
      } else if place + 1 < text.count, text[place + 1] == backslash {
        data.append(backslash)
        place += 2
      } else if place + 3 < text.count {
        data.append(digit(text[place + 1]) << 6 | digit(text[place + 2]) << 3 | digit(text[place + 3]))
        place += 4
      } else {
        break
      }
    }
    return data
  }
}
#endif
