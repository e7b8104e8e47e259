#if os(macOS) || os(Linux)
import Foundation

/// The same statements as the queue's, through libpq's functions in a bare loop: the least that a queue on a server can take.
final class PostgresPeer: DurablePeer, @unchecked Sendable {  // one row uses it at a time
  private typealias Connect = @convention(c) (UnsafePointer<CChar>) -> OpaquePointer?
  private typealias OfConnection = @convention(c) (OpaquePointer?) -> CInt
  private typealias Message = @convention(c) (OpaquePointer?) -> UnsafePointer<CChar>
  private typealias Finish = @convention(c) (OpaquePointer?) -> Void
  private typealias Execute = @convention(c) (OpaquePointer?, UnsafePointer<CChar>) -> OpaquePointer?
  private typealias Prepare =
    @convention(c) (
      OpaquePointer?, UnsafePointer<CChar>, UnsafePointer<CChar>, CInt, UnsafePointer<UInt32>?
    ) -> OpaquePointer?
  private typealias SendPrepared =
    @convention(c) (
      OpaquePointer?, UnsafePointer<CChar>, CInt, UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<CInt>?,
      UnsafePointer<CInt>?, CInt
    ) -> CInt
  private typealias Receive = @convention(c) (OpaquePointer?) -> OpaquePointer?
  private typealias Value = @convention(c) (OpaquePointer?, CInt, CInt) -> UnsafePointer<UInt8>

  private let connection: OpaquePointer
  private let message: Message
  private let finish: Finish
  private let send: SendPrepared
  private let sync: OfConnection
  private let receive: Receive
  private let status: OfConnection
  private let rowCount: OfConnection
  private let value: Value
  private let clear: Finish
  /// Those that the last round has claimed: their numbers, and those of the claims.
  private var claimed: (ids: [Int64], claims: [Int64]) = ([], [])

  /// Connects to a schema whose tables a queue has made, with a kind whose lane is 4.
  init(url: String, schema: String, isDurable: Bool) {
    let names = ["libpq.so.5", "libpq.5.dylib", "/opt/homebrew/opt/libpq/lib/libpq.5.dylib"]
    guard let library = names.lazy.compactMap({ dlopen($0, RTLD_NOW) }).first else {
      preconditionFailure("there is no libpq")
    }
    func function<F>(_ name: String, as type: F.Type = F.self) -> F { unsafeBitCast(dlsym(library, name), to: type) }
    message = function("PQerrorMessage")
    finish = function("PQfinish")
    send = function("PQsendQueryPrepared")
    sync = function("PQpipelineSync")
    receive = function("PQgetResult")
    status = function("PQresultStatus")
    rowCount = function("PQntuples")
    value = function("PQgetvalue")
    clear = function("PQclear")
    connection = function("PQconnectdb", as: Connect.self)(url)!
    let jobs = "\"\(schema)\".jobs"
    for sql in [
      "SET synchronous_commit = \(isDurable ? "on" : "off")", "SET enable_seqscan = off", "SET enable_bitmapscan = off",
    ] { check(function("PQexec", as: Execute.self)(connection, sql)) }
    let statements = [
      ("begin", "BEGIN"), ("commit", "COMMIT"),
      (
        "insert",
        """
        INSERT INTO \(jobs) (lane, major, minor, flags, max_attempts, state, version, payload, enqueued_at)
        VALUES (4, 10, 10, 0, 20, 0, 1, $1::json, 1800000000000) RETURNING id
        """
      ),
      (
        "insert_many",
        """
        INSERT INTO \(jobs) (lane, major, minor, flags, max_attempts, timeout, run_at, state, version, payload, occurrence,
          enqueued_at)
        SELECT lane, major, minor, flags, max_attempts, timeout, run_at, state, version, payload, occurrence, 1800000000000
        FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
          $8::bigint[], $9::bigint[], $10::json[], $11::bigint[]) WITH ORDINALITY AS job (lane, major, minor, flags,
          max_attempts, timeout, run_at, state, version, payload, occurrence, n)
        ORDER BY n RETURNING id
        """
      ),
      (
        "claim",
        """
        UPDATE \(jobs) SET state = 3, worker = 1, claim = claim + 1, started_at = 1800000000000 WHERE id = ANY(ARRAY(
          SELECT id FROM \(jobs) WHERE state = 0 AND lane = 4 ORDER BY (~major), (~minor), attempts, id
          LIMIT $1::bigint FOR UPDATE SKIP LOCKED))
        RETURNING id, claim, enqueued_at, attempts, crashes, max_attempts, timeout, backoff, flags, version, payload
        """
      ),
      (
        "acknowledge",
        """
        UPDATE \(jobs) SET state = 7, worker = NULL, attempts = attempts + 1, finished_at = 1800000000000, error = NULL,
          run_at = NULL
        WHERE id = ANY($1::bigint[]) AND claim = ($2::bigint[])[array_position($1::bigint[], id)] AND state + 0 = 3
        RETURNING id, state
        """
      ),
    ]
    for (name, sql) in statements {
      check(function("PQprepare", as: Prepare.self)(connection, name, sql, 0, nil))
    }
    precondition(function("PQenterPipelineMode", as: OfConnection.self)(connection) == 1)
  }

  deinit { finish(connection) }

  /// Inserts jobs, so many with each statement.
  func enqueue(_ count: Int, payload: [UInt8], inBatchesOf size: Int) {
    func column(_ value: Int64?) -> [UInt8] {
      Self.array(Array(repeating: value.map { Self.bytes($0) }, count: size), of: 20)
    }
    let columns =
      [4, 10, 10, 0, 20, nil, nil, 0, 1].map(column) + [
        Self.array(Array(repeating: payload, count: size), of: 114), column(nil),
      ]
    for _ in 0..<count / size {
      if size == 1 { add("insert", payload) } else { add("insert_many", columns) }
      run(1)
    }
  }

  /// One transaction, and one round trip, acknowledges what the last one claimed, and claims so many.
  func claimAndAcknowledge(_ size: Int) {
    add("begin")
    if !claimed.ids.isEmpty { add("acknowledge", Self.array(claimed.ids), Self.array(claimed.claims)) }
    add("claim", Self.bytes(Int64(size)))
    add("commit")
    let claim = claimed.ids.isEmpty ? 1 : 2
    claimed = ([], [])
    run(claim + 2) { position, result in
      guard position == claim else { return }
      for row in 0..<rowCount(result) {
        claimed.ids.append(integer(result, row, 0))
        claimed.claims.append(integer(result, row, 1))
      }
    }
  }

  // MARK: - Talking

  private func add(_ statement: String, _ parameters: [UInt8]...) { add(statement, parameters) }

  private func add(_ statement: String, _ parameters: [[UInt8]]) {
    let lengths = parameters.map { CInt($0.count) }, formats = parameters.map { _ in CInt(1) }
    withPointers(to: parameters[...]) { values in
      precondition(
        send(connection, statement, CInt(values.count), values, lengths, formats, 1) == 1,
        String(cString: message(connection)))
    }
  }

  private func withPointers(
    to parameters: ArraySlice<[UInt8]>, _ known: [UnsafePointer<CChar>?] = [], _ body: ([UnsafePointer<CChar>?]) -> Void
  ) {
    guard let first = parameters.first else { return body(known) }
    first.withUnsafeBytes { bytes in
      let pointer = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
      withPointers(to: parameters.dropFirst(), known + [pointer], body)
    }
  }

  /// Sends what was added, and reads the answers.
  private func run(_ count: Int, _ read: (Int, OpaquePointer) -> Void = { _, _ in }) {
    precondition(sync(connection) == 1)
    for position in 0..<count {
      while let result = receive(connection) {
        read(position, result)
        check(result)
      }
    }
    check(receive(connection))
  }

  /// A command, rows, or the end of a pipeline.
  private func check(_ result: OpaquePointer?) {
    precondition([1, 2, 10].contains(status(result)), String(cString: message(connection)))
    clear(result)
  }

  private func integer(_ result: OpaquePointer, _ row: CInt, _ column: CInt) -> Int64 {
    value(result, row, column).withMemoryRebound(to: UInt8.self, capacity: 8) { bytes in
      (0..<8).reduce(0) { $0 << 8 | Int64(bytes[$1]) }
    }
  }

  // MARK: - Values in PostgreSQL's binary form

  private static func bytes<I: FixedWidthInteger>(_ number: I) -> [UInt8] {
    withUnsafeBytes(of: number.bigEndian) { Array($0) }
  }

  private static func array(_ numbers: [Int64]) -> [UInt8] { array(numbers.map { bytes($0) }, of: 20) }

  private static func array(_ values: [[UInt8]?], of type: Int32) -> [UInt8] {
    let header = [1, 1, type, Int32(values.count), 1].flatMap { bytes($0) }
    return values.reduce(into: header) { $0 += bytes($1.map { Int32($0.count) } ?? -1) + ($1 ?? []) }
  }
}
#endif
