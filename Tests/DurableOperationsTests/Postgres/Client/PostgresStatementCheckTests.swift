#if os(macOS) || os(Linux)
import TestSupport
import Testing

@testable import DurableOperations

@Suite(.timeLimit(.minutes(30))) struct PostgresStatementCheckTests {
  @Test(arguments: [
    ("SELECT ?, ?", "SELECT $1, $2", 2),
    ("SELECT '?', ?", "SELECT '?', $1", 1),
    ("SELECT 'it''s ?', ?", "SELECT 'it''s ?', $1", 1),
    (#"SELECT 'a\', ?"#, #"SELECT 'a\', $1"#, 1),
    (#"SELECT E'a\'?', ?"#, #"SELECT E'a\'?', $1"#, 1),
    (#"SELECT e'\\', ?"#, #"SELECT e'\\', $1"#, 1),
    (#"SELECT name'\', ?"#, #"SELECT name'\', $1"#, 1),
    (#"SELECT "?""?", ?"#, #"SELECT "?""?", $1"#, 1),
    ("SELECT $$ ? $$, ?", "SELECT $$ ? $$, $1", 1),
    ("SELECT $a$ ? $$ ' $b$ $a$, ?", "SELECT $a$ ? $$ ' $b$ $a$, $1", 1),
    ("SELECT $ä_1$?$ä_1$, ?", "SELECT $ä_1$?$ä_1$, $1", 1),
    ("SELECT a$b, ?", "SELECT a$b, $1", 1),
    ("SELECT -- ? '\n ?", "SELECT -- ? '\n $1", 1),
    ("SELECT /* ? /* ' */ ? */ ?", "SELECT /* ? /* ' */ ? */ $1", 1),
    ("SELECT 1 - -1, 4 / 2, ?", "SELECT 1 - -1, 4 / 2, $1", 1),
    ("SELECT j ?? 'a', ?", "SELECT j ? 'a', $1", 1),
    ("SELECT j ??| ?", "SELECT j ?| $1", 1),
    ("SELECT j ? $1, $2, j ?? 'b'", "SELECT j ? $1, $2, j ?? 'b'", 2),
    ("SELECT $2, $10, $2", "SELECT $2, $10, $2", 10),
    ("SELECT '$1', ?", "SELECT '$1', $1", 1),
    ("SELECT 1;", "SELECT 1", 0),
    ("; SELECT 1 ; -- done", " SELECT 1  -- done", 0),
    ("SELECT 'open ?", "SELECT 'open ?", 0),
    ("SELECT /* open ?", "SELECT /* open ?", 0),
    ("SELECT $a$ open ?", "SELECT $a$ open ?", 0),
    ("SELECT E'\\", "SELECT E'\\", 0),
    ("SELECT '🧵?', ?", "SELECT '🧵?', $1", 1),
    ("(SELECT ?)", "(SELECT $1)", 1),
  ])
  func check_parameters_areNumbered(sql: String, expected: String, count: Int) throws {
    let check = try PostgresStatementCheck(sql)
    #expect(check.sql == expected)
    #expect(check.parameterCount == count)
  }

  @Test(arguments: [
    "BEGIN", "begin work", "START TRANSACTION", "COMMIT", "End", "ABORT", "ROLLBACK", "ROLLBACK WORK",
    "ROLLBACK AND CHAIN", "PREPARE TRANSACTION 'x'", "/* a /* b */ */ COMMIT", "-- a\nCOMMIT", ";COMMIT",
    "ROLLBACK PREPARED 'to'", "COMMIT;",
  ])
  func check_transaction_isRefused(sql: String) {
    #expect(postgresError { _ = try PostgresStatementCheck(sql) }?.code == .transactionEnded)
  }

  @Test(arguments: [
    "PREPARE a AS SELECT 1", "DEALLOCATE ALL", "LISTEN a", "unlisten *", "DISCARD ALL", "RESET ALL", "RESET work_mem",
    "SET work_mem = '1MB'", "SET SESSION work_mem = 1", "SET ROLE a", "set search_path to local",
    "DECLARE a CURSOR WITH HOLD FOR SELECT 1",
    "declare \"for\" binary insensitive no scroll cursor with hold for select 1",
  ])
  func check_settingOfTheSession_isRefused(sql: String) {
    #expect(postgresError { _ = try PostgresStatementCheck(sql) }?.code == .settingOfTheSession)
  }

  @Test(arguments: [
    "", " ", "-- nothing", ";", "/* */;;", "SELECT 1; SELECT 2", "SELECT 1; COMMIT", "COPY t TO STDOUT", "SELECT '\0'",
  ])
  func check_otherThanOneStatement_isRefused(sql: String) {
    #expect(postgresError { _ = try PostgresStatementCheck(sql) }?.code == .statement)
  }

  @Test(arguments: [
    "ROLLBACK TO s", "ROLLBACK WORK TO SAVEPOINT s", "rollback transaction to s", "SAVEPOINT s", "RELEASE s",
    "SET LOCAL work_mem = '1MB'", "SET CONSTRAINTS ALL DEFERRED", "SELECT 'COMMIT'",
    "WITH a AS (SELECT 1) SELECT * FROM a",
    "\"commit\"", "SELECT 1 AS begin", "CALL commit()", "VALUES (1)", "NOTIFY a", "LOCK TABLE t", "EXECUTE a",
    "DECLARE hold CURSOR FOR WITH hold AS (SELECT 1) SELECT * FROM hold", "DECLARE a CURSOR WITHOUT HOLD FOR SELECT 1",
  ])
  func check_whatLeavesThemAsTheyAre_isAllowed(sql: String) throws {
    #expect(try PostgresStatementCheck(sql).sql == sql)
  }

  @Test func require_otherNumber_saysHowMany() throws {
    let check = try PostgresStatementCheck("SELECT ?, ?")
    try check.require(2)
    #expect(postgresError { try check.require(1) }?.message == "it has 2 parameters, and was given 1 values")
  }

  @Test func require_moreThanPostgreSQLTakes_isRefused() throws {
    func check(_ count: Int) throws -> PostgresStatementCheck {
      try PostgresStatementCheck("SELECT " + Array(repeating: "?", count: count).joined(separator: ", "))
    }
    try check(65_535).require(65_535)
    let tooMany = try check(65_536)
    let error = postgresError { try tooMany.require(65_536) }
    #expect(error?.code == .statement)
    #expect(error?.message == "it was given 65536 values, and PostgreSQL takes 65,535 at most")
  }

  @Test(.needsPostgres) func check_whatComesOut_isWhatTheServerTakes() async throws {
    let connection = try await PostgresDatabase().connect()
    let check = try PostgresStatementCheck(
      #"SELECT '?', ?, E'\'?', $x$?$x$, /* ? /* */ ? */ '{"a":1}'::jsonb ?? ?, -1"#)
    let result = try connection.run(.reading, PostgresStatement(check.sql, form: .text)) {
      parameters throws(PostgresError) in
      try parameters.bind(SQLValue.text("one"))
      try parameters.bind(SQLValue.text("a"))
    }
    #expect(PostgresValueMapping.rows(result).map(\.values) == [["?", "one", "'?", "?", 1, -1]])
  }
}
#endif
