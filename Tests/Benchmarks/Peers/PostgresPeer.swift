#if os(macOS) || os(Linux)
import Foundation

/// The statements of the queue through libpq's functions in a bare loop: the minimum for a queue on
/// a server.
final class PostgresPeer: DurablePeer, @unchecked Sendable {  // one row uses it at a time
  private let connection: BareConnection
  /// The jobs that the last round has claimed, and the numbers of the claims.
  private var claimed: (ids: [Int64], claims: [Int64]) = ([], [])

  /// Connects to a schema whose tables a queue has made, with a kind whose lane is 4.
  init(url: String, schema: String, isDurable: Bool) {
    connection = BareConnection(url: url)
    let jobs = "\"\(schema)\".jobs"
    for sql in [
      "SET synchronous_commit = \(isDurable ? "on" : "off")", "SET enable_seqscan = off", "SET enable_bitmapscan = off",
    ] { connection.run(sql) }
    connection.prepare([
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
      ("notify", "SELECT pg_notify('\(schema)', '4')"),
    ])
  }

  /// Inserts jobs, this many with each statement.
  func enqueue(_ count: Int, payload: [UInt8], inBatchesOf size: Int) {
    func column(_ value: Int64?) -> [UInt8] {
      BareConnection.array(Array(repeating: value.map { BareConnection.bytes($0) }, count: size), of: 20)
    }
    let columns =
      [4, 10, 10, 0, 20, nil, nil, 0, 1].map(column) + [
        BareConnection.array(Array(repeating: payload, count: size), of: 114), column(nil),
      ]
    for _ in 0..<count / size {
      if size == 1 { connection.add("insert", payload) } else { connection.add("insert_many", columns) }
      connection.run(1)
    }
  }

  /// How many the last round has claimed.
  var claimedCount: Int { claimed.ids.count }

  /// Notifies the listeners of the schema's name.
  func notify() {
    connection.add("notify")
    connection.run(1)
  }

  /// Acknowledges the last claim and claims `size` jobs, in one transaction and one round trip.
  func claimAndAcknowledge(_ size: Int) {
    connection.add("begin")
    if !claimed.ids.isEmpty {
      connection.add("acknowledge", BareConnection.array(claimed.ids), BareConnection.array(claimed.claims))
    }
    connection.add("claim", BareConnection.bytes(Int64(size)))
    connection.add("commit")
    let claim = claimed.ids.isEmpty ? 1 : 2
    claimed = ([], [])
    connection.run(claim + 2) { position, result in
      guard position == claim else { return }
      for row in 0..<connection.rowCount(result) {
        claimed.ids.append(connection.integer(result, row, 0))
        claimed.claims.append(connection.integer(result, row, 1))
      }
    }
  }
}
#endif
