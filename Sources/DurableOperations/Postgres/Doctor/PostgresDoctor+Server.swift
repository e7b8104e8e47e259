#if os(macOS) || os(Linux)
import Foundation

extension PostgresDoctor {
  func server() throws -> [Diagnosis] {
    let row = try ask(
      """
      SELECT pg_catalog.current_setting('server_version'), pg_catalog.pg_is_in_recovery() OR pg_catalog.current_setting('transaction_read_only') = 'on',
        pg_catalog.current_setting('server_encoding')
      """
    ).row(0)
    var found: [Diagnosis] = [.fine("server", "The server is PostgreSQL \(row.text(0) ?? "").")]
    if row.bool(1) {
      found.append(
        .attention(
          "server", "The server takes no changes: it is a standby, or its transactions are read only.",
          why: "No job can be stored or run there.", remedy: "Name the primary server in the URL."))
    }
    if let encoding = row.text(2), encoding != "UTF8" {
      found.append(
        .attention(
          "server", "The encoding of the database is \(encoding), not UTF8.",
          why: "A queue makes no tables there: what jobs hold may have no place in it.",
          remedy: "CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0, and name that in the URL."))
    }
    return found
  }

  /// Checks for settings that lose stored data.
  func settings() throws -> [Diagnosis] {
    let row = try ask(
      "SELECT pg_catalog.current_setting('fsync'), pg_catalog.current_setting('full_page_writes'), pg_catalog.current_setting('synchronous_commit')"
    ).row(0)
    var found: [Diagnosis] = []
    for (column, name) in [(0, "fsync"), (1, "full_page_writes")] as [(Int32, String)] where row.text(column) == "off" {
      found.append(
        .attention(
          "settings", "\(name) is off.",
          why: "When the power goes, or the system stops, the whole database may be damaged.",
          remedy: "ALTER SYSTEM SET \(name) = on; SELECT pg_catalog.pg_reload_conf();"))
    }
    if row.text(2) == "off" {
      found.append(
        .attention(
          "settings", "synchronous_commit is off for this role and database.",
          why: """
            A queue sets it for its own transactions. What others store by SQL, such as durable.enqueue(…), may be missing after \
            the server has crashed.
            """,
          remedy: "ALTER ROLE … RESET synchronous_commit, or ALTER DATABASE …, or ALTER SYSTEM …: where it was set."))
    }
    return found.isEmpty ? [.fine("settings", "What is committed is on the disk.")] : found
  }

  /// Compares the clocks. The server's time lies between the question and the arrival of the
  /// answer.
  func clocks() throws -> [Diagnosis] {
    let asked = now().milliseconds
    let server = try ask("SELECT (extract(epoch FROM pg_catalog.clock_timestamp()) * 1000)::bigint").row(0).integer(0)
    let answered = now().milliseconds
    let difference = Duration.milliseconds(server < asked ? asked - server : max(server - answered, 0))
    let text = "\(difference.milliseconds) ms"
    guard difference >= limits.clockDifference else {
      return [.fine("clocks", "The clocks of the server and of this machine differ by \(text).")]
    }
    return [
      .attention(
        "clocks", "The clock of the server is \(text) \(server < asked ? "behind" : "ahead of") this machine's.",
        why: """
          Jobs become due by the server's clock alone. Dates that programs name, as in JobStart.at, are by theirs: such jobs \
          run too early or too late.
          """,
        remedy: "Have both machines set their clocks by NTP.")
    ]
  }

  func connections() throws -> [Diagnosis] {
    let row = try ask(
      """
      SELECT pg_catalog.current_setting('max_connections')::bigint - pg_catalog.current_setting('superuser_reserved_connections')::bigint,
        (SELECT coalesce(pg_catalog.sum(numbackends), 0)::bigint FROM pg_stat_database),
        (SELECT rolconnlimit::bigint FROM pg_roles WHERE rolname = current_user),
        (SELECT pg_catalog.count(*) FROM pg_stat_activity WHERE usename = current_user),
        (SELECT datconnlimit::bigint FROM pg_database WHERE datname = pg_catalog.current_database()),
        (SELECT numbackends::bigint FROM pg_stat_database WHERE datname = pg_catalog.current_database())
      """
    ).row(0)
    let all = [
      ("server", row.integer(0), row.integer(1)), ("role", row.integer(2), row.integer(3)),
      ("database", row.integer(4), row.integer(5)),
    ]
    // -1 is no limit.
    return [Self.connections(of: all.filter { $0.1 >= 0 }, atLeast: limits.freeConnections)]
  }

  /// - Parameter limits: each limit, with the number of used connections.
  static func connections(of limits: [(name: String, limit: Int64, used: Int64)], atLeast: Int64) -> Diagnosis {
    guard let tightest = limits.min(by: { $0.limit - $0.used < $1.limit - $1.used }) else {
      return .fine("connections", "Nothing limits how many connections there are.")
    }
    let finding = "\(tightest.used) of \(tightest.limit) connections of the \(tightest.name) are used."
    guard tightest.limit - tightest.used < atLeast else { return .fine("connections", finding) }
    return .attention(
      "connections", finding,
      why: """
        Each process of a queue has up to PostgresOptions.maxConnections, one to listen, and one more for a moment: 6 unless it \
        says otherwise. One that gets none enqueues and runs nothing until it does.
        """,
      remedy: "Raise max_connections, or the limit of the role or the database; lower maxConnections; or use a pooler.")
  }
}
#endif
