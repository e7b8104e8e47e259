#if os(macOS) || os(Linux)
import Foundation

/// Where a server is, and how to talk to it.
struct PostgresConfiguration: Sendable {
  /// A URL, or whatever else libpq accepts as one.
  var url: String
  /// How long connecting to a host takes at most, unless the URL says it.
  var connectTimeout: Duration = .seconds(10)
  /// How long the answer to a pipeline takes at most.
  var statementTimeout: Duration = .seconds(10)
  /// Whether a transaction may meet another session of the server than the one before, as behind PgBouncer: then no statement
  /// is prepared under a name, and no setting is of a session.
  var isPooled = false
  /// Settings of each session, such as `statement_timeout`.
  var settings: [(name: String, value: String)] = []

  init(url: String) {
    self.url = url
  }

  /// The oldest server that has what is used.
  static let oldestServer: Int32 = 130_000

  /// What libpq is told before it sees the URL, so that the URL wins.
  ///
  /// - Parameter environment: a variable of libpq's wins, too.
  func defaults(environment: [String: String]) -> [(name: String, value: String)] {
    let defaults: [(name: String, value: String, variable: String?)] = [
      // On macOS, asking for it crashes in the child of a fork.
      ("gssencmode", "disable", "PGGSSENCMODE"),
      ("fallback_application_name", "durable", nil),
      ("target_session_attrs", "read-write", "PGTARGETSESSIONATTRS"),
      // A server that is switched off is noticed after 25 seconds, and not after hours.
      ("keepalives_idle", "10", nil),
      ("keepalives_interval", "5", nil),
      ("keepalives_count", "3", nil),
      ("tcp_user_timeout", "25000", nil),
    ]
    return defaults.filter { $0.variable.flatMap { environment[$0] } == nil }.map { ($0.name, $0.value) }
  }

  /// What it is told after it saw the URL. Texts are UTF-8 here, whatever others of the URL's users want.
  static let overrides = [(name: "client_encoding", value: "UTF8")]
}
#endif
