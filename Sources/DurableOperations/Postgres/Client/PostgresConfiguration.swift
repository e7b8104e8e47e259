#if os(macOS) || os(Linux)
import Foundation

/// Where a server is, and how to talk to it.
struct PostgresConfiguration: Sendable {
  /// A URL, or any other connection string that libpq accepts.
  var url: String
  /// The time limit for connecting to a host, unless the URL sets one.
  var connectTimeout: Duration = .seconds(10)
  /// The time limit for the answer to a pipeline.
  var statementTimeout: Duration = .seconds(10)
  /// Whether two transactions may use different sessions of the server, as behind PgBouncer: then
  /// no statement is prepared under a name, and no setting belongs to a session.
  var isPooled = false
  /// Settings of each session, such as `statement_timeout`.
  var settings: [(name: String, value: String)] = []

  init(url: String) {
    self.url = url
  }

  /// The oldest server with all features that the library uses.
  static let oldestServer: Int32 = 130_000

  /// The parameters that libpq receives before the URL, so that the URL wins.
  ///
  /// - Parameter environment: a variable of libpq wins, too.
  func defaults(environment: [String: String]) -> [(name: String, value: String)] {
    let defaults: [(name: String, value: String, variable: String?)] = [
      // On macOS, asking for GSS encryption crashes in the child of a fork.
      ("gssencmode", "disable", "PGGSSENCMODE"),
      ("fallback_application_name", "durable", nil),
      ("target_session_attrs", "read-write", "PGTARGETSESSIONATTRS"),
      // The client notices a server that is switched off after 25 seconds instead of hours.
      ("keepalives_idle", "10", nil),
      ("keepalives_interval", "5", nil),
      ("keepalives_count", "3", nil),
      ("tcp_user_timeout", "25000", nil),
    ]
    return defaults.filter { $0.variable.flatMap { environment[$0] } == nil }.map { ($0.name, $0.value) }
  }

  /// The parameters that libpq receives after the URL. Texts are UTF-8 here, whatever other users
  /// of the URL want.
  static let overrides = [(name: "client_encoding", value: "UTF8")]
}
#endif
