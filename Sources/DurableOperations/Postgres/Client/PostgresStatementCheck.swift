#if os(macOS) || os(Linux)
/// Prepares a statement of the user for the server: turns `?` into `$1`, `$2`, …, and refuses what
/// would begin or end the transaction, or change the session for good.
///
/// It does not see what functions do, such as `set_config` and `pg_advisory_lock`.
struct PostgresStatementCheck {
  /// The statement, with `$n` for its values.
  private(set) var sql = ""
  /// How many values it needs.
  private(set) var parameterCount = 0
  /// Its first word, in capital letters.
  private(set) var command = ""

  /// - Throws: `.transactionEnded`, `.settingOfTheSession`, or `.statement` for no statement or
  ///   several.
  init(_ sql: String) throws(PostgresError) {
    guard !sql.utf8.contains(0) else {
      throw PostgresError(.statement, message: "it has a character U+0000, which PostgreSQL cannot take", sql: sql)
    }
    let tokens = PostgresTokens(sql)
    // A statement with numbered parameters may use `?` as an operator.
    let isNumbered = tokens.contains { if case .parameter = $0 { true } else { false } }
    var (bytes, count, words, isOver) = ([UInt8](), 0, [String](), false)
    bytes.reserveCapacity(sql.utf8.count + 8)
    var isAtWords = true
    for token in tokens {
      if isOver, !token.isSpace {
        throw PostgresError(.statement, message: "one statement is needed, and this is more", sql: sql)
      }
      switch token {
      case .space(let text): bytes += text
      case .question where !isNumbered:
        count += 1
        bytes += Array("$\(count)".utf8)
      case .doubledQuestion where !isNumbered: bytes.append(UInt8(ascii: "?"))
      case .question: bytes.append(UInt8(ascii: "?"))
      case .doubledQuestion: bytes += [UInt8(ascii: "?"), UInt8(ascii: "?")]
      case .parameter(let number, let text):
        count = max(count, number)
        bytes += text
      case .semicolon:
        // Before the first word, a semicolon ends nothing.
        if !words.isEmpty { isOver = true }
      case .word(let text):
        if isAtWords, words.count < 8 { words.append(String(decoding: text, as: UTF8.self).uppercased()) }
        bytes += text
      case .other(let text):
        // Words count up to the first token that is none, but for the quoted name of a cursor.
        if words.first != "DECLARE" { isAtWords = false }
        if words.isEmpty { words = ["("] }
        bytes += text
      }
    }
    guard !words.isEmpty else { throw PostgresError(.statement, message: "there is no statement", sql: sql) }
    if let refusal = Self.refusal(of: words) {
      throw PostgresError(refusal.code, message: refusal.message, sql: sql)
    }
    self.sql = String(decoding: bytes, as: UTF8.self)
    parameterCount = count
    command = words[0]
  }

  /// - Throws: `.statement` for another number of values, and for more than PostgreSQL takes.
  func require(_ count: Int) throws(PostgresError) {
    guard count == parameterCount else {
      throw PostgresError(
        .statement, message: "it has \(parameterCount) parameters, and was given \(count) values", sql: sql)
    }
    guard count <= PostgresParameters.mostOfAStatement else {
      throw PostgresError(
        .statement, message: "it was given \(count) values, and PostgreSQL takes 65,535 at most", sql: sql)
    }
  }

  private static func refusal(of words: [String]) -> (code: PostgresError.Code, message: String)? {
    let first = words[0]
    switch first {
    case "ROLLBACK":
      // ROLLBACK [WORK | TRANSACTION] TO a savepoint leaves the transaction open.
      let next = words.dropFirst().first { $0 != "WORK" && $0 != "TRANSACTION" }
      return next == "TO" ? nil : (.transactionEnded, "it has a ROLLBACK")
    case "PREPARE" where words.dropFirst().first != "TRANSACTION":
      return (.settingOfTheSession, "it would prepare a statement for the session")
    case "BEGIN", "START", "COMMIT", "END", "ABORT", "PREPARE":
      return (.transactionEnded, "it has a \(first)")
    case "DEALLOCATE", "LISTEN", "UNLISTEN", "DISCARD", "RESET":
      return (.settingOfTheSession, "\(first) would change the session")
    case "DECLARE" where words.prefix(while: { $0 != "FOR" }).contains("WITH"):
      return (.settingOfTheSession, "a cursor WITH HOLD would stay with the session")
    case "COPY":
      return (.statement, "COPY is not possible here")
    case "SET":
      // SET CONSTRAINTS and SET TRANSACTION end with the transaction.
      let second = words.dropFirst().first
      if second == "LOCAL" || second == "CONSTRAINTS" || second == "TRANSACTION" { return nil }
      return (.settingOfTheSession, "SET without LOCAL would change the session")
    default:
      return nil
    }
  }
}
#endif
