/// Reads the text of a cron expression.
struct CronParser {
  private static let shorthands = [
    "@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
  ]

  private let expression: String

  init(_ expression: String) {
    self.expression = expression
  }

  func parse() throws(CronError) -> CronFields {
    let words = expression.split(whereSeparator: \.isWhitespace)
    if words.count == 1, words[0].hasPrefix("@") { return try CronParser(expansion(of: words[0])).parse() }
    guard words.count == 5 else { throw wrongNumber(words) }
    let weekdays = try values(of: .dayOfWeek, words[4])
    let fields = CronFields(
      minutes: try values(of: .minute, words[0]),
      hours: try values(of: .hour, words[1]),
      daysOfMonth: try values(of: .dayOfMonth, words[2]),
      months: try values(of: .month, words[3]),
      // 7 is Sunday too.
      daysOfWeek: (weekdays | weekdays >> 7) & 0x7F,
      oneDayFieldIsEnough: !words[2].hasPrefix("*") && !words[4].hasPrefix("*"))
    guard fields.firstMatch(after: 0) != nil else {
      throw CronError(
        code: .neverOccurs, expression: expression, field: .dayOfMonth, text: String(words[2]),
        column: column(of: words[2]),
        detail: "is a day that none of its months has. Use one that they have, or other months.")
    }
    return fields
  }

  private func expansion(of word: Substring) throws(CronError) -> String {
    if let line = CronParser.shorthands[word.lowercased()] { return line }
    throw CronError(
      code: .unknownShorthand, expression: expression, field: nil, text: String(word), column: column(of: word),
      detail:
        "is no shorthand that is known here. Use @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually, "
        + "or five fields.")
  }

  private func wrongNumber(_ words: [Substring]) -> CronError {
    let found = words.isEmpty ? "no fields" : words.count == 1 ? "one field" : "\(words.count) fields"
    let surplus = words.dropFirst(5).first
    return CronError(
      code: .wrongNumberOfFields, expression: expression, field: nil, text: surplus.map { String($0) } ?? "",
      column: surplus.map(column(of:)) ?? expression.count + 1,
      detail: "has \(found). Write five: minute, hour, day of month, month and day of week"
        + (words.count > 5 ? "; there are none for seconds and years." : "."))
  }

  // MARK: - One field

  private func values(of field: CronError.Field, _ word: Substring) throws(CronError) -> UInt64 {
    var values: UInt64 = 0
    for entry in word.split(separator: ",", omittingEmptySubsequences: false) {
      guard !entry.isEmpty else {
        throw error(
          .emptyEntry, field, entry, "is an empty entry. Write a list without gaps, such as “1,5”.")
      }
      values |= try self.values(of: field, entry: entry)
    }
    return values
  }

  private func values(of field: CronError.Field, entry: Substring) throws(CronError) -> UInt64 {
    let slash = entry.firstIndex(of: "/")
    let span = entry[..<(slash ?? entry.endIndex)]
    var range = try range(of: field, span)
    var step = 1
    if let slash {
      step = try self.step(of: field, entry[entry.index(after: slash)...])
      // A week begins with its Sunday, also if that is written as 7, and ends before the next one.
      let (first, last) =
        field == .dayOfWeek ? (range.lowerBound % 7, 6) : (range.lowerBound, field.values.upperBound)
      if !span.contains("-") { range = first...last }
    }
    return stride(from: range.lowerBound, through: range.upperBound, by: step).reduce(into: 0) { $0 |= 1 << UInt64($1) }
  }

  private func range(of field: CronError.Field, _ text: Substring) throws(CronError) -> ClosedRange<Int> {
    if text == "*" { return field.values }
    guard let dash = text.firstIndex(of: "-") else {
      let value = try value(of: field, text)
      return value...value
    }
    let (first, last) = (text[..<dash], text[text.index(after: dash)...])
    var lower = try value(of: field, first)
    var upper = try value(of: field, last)
    // Sunday ends a week as well as it begins one.
    if field == .dayOfWeek, upper == 0, lower > 0 { upper = 7 }
    if field == .dayOfWeek, lower == 7, upper < 7 { lower = 0 }
    guard lower <= upper else {
      let (least, most) = (field.values.lowerBound, field == .dayOfWeek ? 6 : field.values.upperBound)
      throw error(
        .reversedRange, field, text,
        "ends before it begins. Write two ranges: “\(lower)-\(most),\(least)-\(upper)”.")
    }
    return lower...upper
  }

  private func step(of field: CronError.Field, _ text: Substring) throws(CronError) -> Int {
    let most = field == .dayOfWeek ? 7 : field.values.count
    guard let step = number(text), (1...most).contains(step) else {
      throw error(.badStep, field, text, "is not a step between 1 and \(most).")
    }
    return step
  }

  private func value(of field: CronError.Field, _ text: Substring) throws(CronError) -> Int {
    let allowed = field.values
    if let number = number(text) {
      if allowed.contains(number) { return number }
      throw error(
        .outOfRange, field, text, "is not between \(allowed.lowerBound) and \(allowed.upperBound).")
    }
    if let place = field.names.firstIndex(of: text.uppercased()) { return allowed.lowerBound + place }
    let names = field.names.isEmpty ? "" : ", or \(field.names.first!) to \(field.names.last!)"
    throw error(
      .notAValue, field, text,
      "is not \(field == .hour ? "an" : "a") \(field). Use \(allowed.lowerBound) to \(allowed.upperBound)\(names), or *."
    )
  }

  /// The number of a text that has only digits; larger than any field allows if the text is too
  /// long.
  private func number(_ text: Substring) -> Int? {
    guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
    return Int(text) ?? .max
  }

  // MARK: - Errors

  private func error(
    _ code: CronError.Code, _ field: CronError.Field, _ text: Substring, _ detail: String
  ) -> CronError {
    CronError(
      code: code, expression: expression, field: field, text: String(text), column: column(of: text), detail: detail)
  }

  private func column(of part: Substring) -> Int {
    expression.distance(from: expression.startIndex, to: part.startIndex) + 1
  }
}
