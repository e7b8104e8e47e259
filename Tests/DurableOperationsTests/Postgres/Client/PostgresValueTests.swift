#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

@Suite(.timeLimit(.minutes(30)), .needsPostgres) struct PostgresValueTests {
  /// Sends values, and gives the row that comes back.
  private func row<R>(
    _ sql: String, _ bind: (inout PostgresParameters) throws(PostgresError) -> Void, read: (PostgresRow) throws -> R
  ) async throws -> R? {
    try await PostgresDatabase().connect().run(.reading, PostgresStatement(sql), bind).first(read)
  }

  @Test func integers_extremes_comeBack() async throws {
    let values = [Int64.min, -1, 0, 1, Int64.max]
    let read = try await row("SELECT $1, $2, $3, $4, $5, $6") { parameters throws(PostgresError) in
      for value in values { parameters.bind(value) }
      parameters.bind(nil as Int64?)
    } read: { row in
      #expect(row.optionalInteger(5) == nil)
      #expect(row.isNull(5) && !row.isNull(4))
      return (0..<5).map { row.integer($0) }
    }
    #expect(read == values)
  }

  @Test func integers_narrowColumns_areRead() async throws {
    let result = try await PostgresDatabase().connect().run(
      .reading, PostgresStatement("SELECT (-32768)::smallint, 2147483647::int, true, false"))
    #expect(result.count == 1)
    result.forEachRow { row in
      #expect(row.integer(0) == -32_768)
      #expect(row.integer(1) == 2_147_483_647)
      #expect(row.bool(2) && !row.bool(3))
    }
  }

  @Test func texts_andBytes_comeBack() async throws {
    let text = "naïve 🧵 'quoted' \\ \"\n"
    let data = Data([0, 255, 39, 92, 0])
    let result = try await PostgresDatabase().connect().run(
      .reading, PostgresStatement("SELECT $1, $2, $3, $4, $5::text, $6::bytea, $7, $8")
    ) { parameters throws(PostgresError) in
      try parameters.bind(text)
      try parameters.bind("")
      parameters.bind(data)
      parameters.bind(Data())
      try parameters.bind(nil as String?)
      parameters.bind(nil as Data?)
      parameters.bind(true)
      try parameters.bind(#"{"a": 1}"#, as: .json)
    }
    #expect(result.count == 1)
    result.forEachRow { row in
      #expect(row.text(0) == text)
      #expect(row.text(1)?.isEmpty == true)
      #expect(row.data(2) == data)
      #expect(row.data(3) == Data())
      #expect(row.text(4) == nil && row.data(5) == nil)
      #expect(row.bool(6))
      #expect(row.text(7) == #"{"a": 1}"#)
    }
  }

  @Test func arrays_comeBack() async throws {
    let sql = "SELECT $1, $2, $3, $4::text, $5::text, array_length($6, 1), $7::text"
    let statement = PostgresStatement(sql)
    let result = try await PostgresDatabase().connect().run(.reading, statement) { parameters throws(PostgresError) in
      parameters.bind([Int64.min, 7, Int64.max])
      parameters.bind([] as [Int64])
      parameters.bind([nil, -2] as [Int64?])
      try parameters.bind(["a", nil, "", "{\",}"])
      try parameters.bind([] as [String?])
      parameters.bind([Data([1]), nil])
      parameters.bind([true, nil, false])
    }
    #expect(result.count == 1)
    result.forEachRow { row in
      #expect(row.integers(0) == [Int64.min, 7, Int64.max])
      #expect(row.integers(1) == [])
      #expect(row.integers(2) == [0, -2])
      #expect(row.text(3) == #"{a,NULL,"","{\",}"}"#)
      #expect(row.text(4) == "{}")
      #expect(row.integer(5) == 2)
      #expect(row.text(6) == "{t,NULL,f}")
    }
  }

  @Test func bytesOfJSON_inAnArray_areStoredAsTheyAre() async throws {
    let payloads = [Data(#"{"a":"ä\u0000"}"#.utf8), Data("7".utf8)]
    let read = try await PostgresDatabase().connect().run(
      .reading, PostgresStatement("SELECT p FROM unnest($1) WITH ORDINALITY AS n (p, i) ORDER BY i")
    ) { parameters throws(PostgresError) in parameters.bind(payloads, as: .json) }.map { $0.data(0) }
    #expect(read == payloads)
  }

  @Test func text_withZeroCharacter_isRefused() throws {
    var parameters = PostgresParameters()
    for value in ["\0", "a\0b"] {
      #expect(postgresError { try parameters.bind(value) }?.message.contains("U+0000") == true)
      #expect(postgresError { try parameters.bind(["a", value]) }?.message.contains("U+0000") == true)
      #expect(postgresError { try parameters.bind(SQLValue.text(value)) }?.message.contains("U+0000") == true)
    }
  }

  @Test func usersValues_takeTheTypeOfTheirPlace() async throws {
    let connection = try await PostgresDatabase().connect()
    try connection.execute(
      "CREATE TABLE u (i int, s smallint, n numeric, f float8, t text, b bytea, o boolean, j jsonb, d date)")
    let insert = PostgresStatement("INSERT INTO u VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING *", form: .text)
    let values: [SQLValue] = [
      7, -3, .real(1.25), .real(.infinity), "x", .blob(Data([0, 1, 255])), 1, #"{"a": 1}"#, "2026-01-31",
    ]
    func inserted(_ values: [SQLValue]) throws -> SQLRow {
      let result = try connection.run(.implicit, insert) { parameters throws(PostgresError) in
        for value in values { try parameters.bind(value) }
      }
      return PostgresValueMapping.rows(result)[0]
    }
    let row = try inserted(values)
    #expect(row.columns == ["i", "s", "n", "f", "t", "b", "o", "j", "d"])
    #expect(
      row.values == [
        7, -3, "1.25", .real(.infinity), "x", .blob(Data([0, 1, 255])), 1, #"{"a": 1}"#, "2026-01-31",
      ])
    #expect(try inserted(Array(repeating: .null, count: 9)).values == Array(repeating: .null, count: 9))
    try connection.execute("SET bytea_output = 'escape'")
    let bytes = Data((0...255).map { UInt8($0) })
    #expect(try inserted([1, 1, 1, 1, "", .blob(bytes), 0, "{}", .null])["b"] == .blob(bytes))
  }
}
#endif
