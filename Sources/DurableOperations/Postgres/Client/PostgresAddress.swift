#if os(macOS) || os(Linux)
import CompositeOperationsPostgres
import Foundation

/// The parts of a URL as libpq reads them: enough to name the server, and to keep passwords out of
/// messages.
struct PostgresAddress: Sendable {
  /// For messages, without the role and its password.
  let place: String
  let hosts: PostgresHostList
  /// Texts that messages must not show.
  private let secrets: [String]
  /// Set only if the URL or the environment gives it.
  let connectTimeout: Duration?

  init(_ url: String, library: PostgresLibrary, environment: [String: String]) throws(PostgresError) {
    guard !Self.isMisread(url) else {
      throw PostgresError(
        .cannotConnect,
        message: "the URL cannot be read: its user or password has a character that has to be encoded, "
          + "as @ by %40 and / by %2F")
    }
    var error: UnsafeMutablePointer<CChar>?
    guard let options = library.functions.conninfoParse(url, &error) else {
      let text = error.map { String(cString: $0) } ?? "there is no memory for it"
      if let error { library.functions.freemem(error) }
      throw PostgresError(.cannotConnect, message: "the URL cannot be read: \(Self.withoutQuotations(text))")
    }
    defer { library.functions.conninfoFree(options) }
    var (values, secrets) = ([String: String](), [String]())
    var option = options
    while let keyword = option.pointee.keyword {
      if let value = option.pointee.value.map({ String(cString: $0) }), !value.isEmpty {
        values[String(cString: keyword)] = value
        if option.pointee.display.map({ String(cString: $0) }) == "*" { secrets.append(value) }
      }
      option += 1
    }
    if let password = environment["PGPASSWORD"], !password.isEmpty { secrets.append(password) }
    self.secrets = secrets

    func value(_ name: String, _ variable: String) -> String { values[name] ?? environment[variable] ?? "" }
    hosts = PostgresHostList(
      names: value("host", "PGHOST"), addresses: value("hostaddr", "PGHOSTADDR"), ports: value("port", "PGPORT"),
      // Libpq knows it since PostgreSQL 16. An older one refuses it in the URL, and ignores the
      // variable: then a host or two may be tried again in vain.
      isShuffled: value("load_balance_hosts", "PGLOADBALANCEHOSTS") == "random")
    let shown = hosts.hosts.map { host in
      (host.name ?? host.address ?? "localhost") + (host.port.map { ":\($0)" } ?? "")
    }
    let database = value("dbname", "PGDATABASE")
    // The server would cut a longer name, and connect to another database, or as another role.
    for (name, what) in [(database, "database"), (value("user", "PGUSER"), "role")] where name.utf8.count > 63 {
      throw PostgresError(
        .cannotConnect, message: "the name of the \(what) has \(name.utf8.count) bytes, and a server knows 63 at most")
    }
    place = Self.hiding(secrets, in: "\(shown.joined(separator: ","))/\(database)")
    connectTimeout = (values["connect_timeout"] ?? environment["PGCONNECT_TIMEOUT"]).flatMap { Int64($0) }
      .flatMap { $0 > 0 ? .seconds($0) : nil }
  }

  /// Whether libpq takes part of a password for a host or a database, which messages show: the user
  /// ends at the first @, unless a / comes before it.
  private static func isMisread(_ url: String) -> Bool {
    guard let scheme = url.firstRange(of: "://") else { return false }
    let rest = url[scheme.upperBound...]
    let beforeSlash = rest.prefix { $0 != "/" }
    guard let at = beforeSlash.firstIndex(of: "@") else {
      let host = rest.prefix { $0 != "/" && $0 != "?" }
      // A colon may stand before a port, or in the address of a host in brackets.
      return host.contains(":") && rest[host.endIndex...].prefix { $0 != "?" }.contains("@")
    }
    return rest[at...].dropFirst().prefix { $0 != "/" && $0 != "?" }.contains("@")
  }

  /// A message on one line, without passwords.
  func shown(_ message: String) -> String {
    Self.hiding(secrets, in: Self.line(message))
  }

  /// Joins the lines of a message. Libpq indents all but the first.
  private static func line(_ text: String) -> String {
    text.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: " ")
  }

  private static func hiding(_ secrets: [String], in text: String) -> String {
    secrets.reduce(text) { $0.replacing($1, with: "********") }
  }

  /// Removes quotations: libpq quotes what it could not read, which may be the password.
  private static func withoutQuotations(_ text: String) -> String {
    let line = line(text)
    guard let first = line.firstIndex(of: "\""), let last = line.lastIndex(of: "\""), first < last else { return line }
    return line[...first] + "…" + line[last...]
  }
}
#endif
