public import Foundation

/// An error in a cron expression, with the field and the column.
///
/// ```
/// “61” in the minute field (column 1) of “61 * * * *” is not between 0 and 59.
/// ```
public struct CronError: Error, Sendable, Hashable {
  /// What is wrong.
  ///
  /// More codes may come: a `switch` over them needs a `default`.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// There are more or fewer than five fields.
    public static let wrongNumberOfFields = Code(value: .wrongNumberOfFields)
    /// A word with an `@` is not a known shorthand.
    public static let unknownShorthand = Code(value: .unknownShorthand)
    /// A value is neither a number nor a name that the field knows.
    public static let notAValue = Code(value: .notAValue)
    /// A number is outside the range of the field.
    public static let outOfRange = Code(value: .outOfRange)
    /// A range ends before it begins.
    public static let reversedRange = Code(value: .reversedRange)
    /// A step is not a number, or makes no sense in the field.
    public static let badStep = Code(value: .badStep)
    /// An entry between two commas, or at an end of the list, is empty.
    public static let emptyEntry = Code(value: .emptyEntry)
    /// The days and months that the fields allow never meet, as on a 30 February.
    public static let neverOccurs = Code(value: .neverOccurs)

    /// The code in a word, such as `wrongNumberOfFields`.
    public var description: String { value.rawValue }

    /// The codes over which the library itself switches, without a `default`.
    enum Value: String {
      case wrongNumberOfFields, unknownShorthand, notAValue, outOfRange, reversedRange, badStep, emptyEntry, neverOccurs
    }

    let value: Value
  }

  /// One of the five fields.
  package enum Field: Int, Sendable, Hashable {
    /// The first field.
    case minute
    /// The second field.
    case hour
    /// The third field.
    case dayOfMonth
    /// The fourth field.
    case month
    /// The fifth field.
    case dayOfWeek
  }

  /// What is wrong.
  public let code: Code
  /// The expression as given.
  package let expression: String
  /// The field in question; nil if the whole expression is.
  package let field: Field?
  /// The text in question: a part of the expression.
  package let text: String
  /// Where that text begins, in characters from 1; one past the end if something is missing there.
  public let column: Int
  let detail: String
}

extension CronError: LocalizedError, CustomStringConvertible {
  /// A sentence: what is wrong where, and what is allowed.
  public var description: String {
    guard let field else { return "\(CronError.quoted(expression)) \(detail)" }
    let place = "in the \(field) field (column \(column)) of \(CronError.quoted(expression))"
    return "\(CronError.quoted(text)) \(place) \(detail)"
  }

  /// The same as ``description``.
  public var errorDescription: String? { description }

  private static func quoted(_ text: String) -> String {
    let longest = 100
    return text.count <= longest ? "“\(text)”" : "“\(text.prefix(longest))…”"
  }
}

extension CronError.Field: CustomStringConvertible {
  /// Its name, such as “day of month”.
  package var description: String {
    switch self {
    case .minute: "minute"
    case .hour: "hour"
    case .dayOfMonth: "day of month"
    case .month: "month"
    case .dayOfWeek: "day of week"
    }
  }
}

extension CronError.Field {
  /// The values that the field allows.
  var values: ClosedRange<Int> {
    switch self {
    case .minute: 0...59
    case .hour: 0...23
    case .dayOfMonth: 1...31
    case .month: 1...12
    case .dayOfWeek: 0...7
    }
  }

  /// The names of values, from the first on.
  var names: [String] {
    switch self {
    case .minute, .hour, .dayOfMonth: []
    case .month: ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
    case .dayOfWeek: ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
    }
  }
}
