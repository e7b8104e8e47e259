#if os(macOS) || os(Linux)
import CompositeOperationsPostgres
import Foundation

extension PostgresConnection {
  /// Connects, and blocks the thread of the caller: looking up names would block it anyway.
  static func connect(
    _ configuration: PostgresConfiguration, library: PostgresLibrary? = nil,
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) throws(PostgresError) -> PostgresConnection {
    let library = if let library { library } else { try PostgresLibrary.shared }
    let address = try PostgresAddress(configuration.url, library: library, environment: environment)
    var hosts = address.hosts
    while true {
      let attempt = Attempt(configuration, address, library, hosts: hosts, environment: environment)
      switch try attempt.run() {
      case .connected(let connection):
        try connection.prepareSession()
        return connection
      case .silent(let host, let port, let message):
        // `PQconnectPoll` would wait for this host for ever; the next attempt starts with the hosts
        // behind it.
        hosts.removeSilent(host, port: port)
        if !hosts.hosts.isEmpty { continue }
        throw PostgresError(.cannotConnect, message: message, place: address.place)
      }
    }
  }

  /// Refuses a server that is too old, and sets the settings of the session.
  private func prepareSession() throws(PostgresError) {
    let version = serverVersion
    guard version >= PostgresConfiguration.oldestServer else {
      throw PostgresError(.serverTooOld, message: "it is PostgreSQL \(version / 10_000)", place: address.place)
    }
    guard !configuration.isPooled, !configuration.settings.isEmpty else { return }
    try run(PostgresPipeline(.implicit, .setting(configuration.settings, isLocal: false)))
  }
}

/// One attempt to connect to the first reachable host of some.
private struct Attempt {
  enum End {
    case connected(PostgresConnection)
    /// A host did not answer in time.
    case silent(host: String, port: String, message: String)
  }

  private let configuration: PostgresConfiguration
  private let address: PostgresAddress
  private let library: PostgresLibrary
  private let timeout: Duration
  private let parameters: [(name: String, value: String)]

  init(
    _ configuration: PostgresConfiguration, _ address: PostgresAddress, _ library: PostgresLibrary,
    hosts: PostgresHostList, environment: [String: String]
  ) {
    self.configuration = configuration
    self.address = address
    self.library = library
    timeout = address.connectTimeout ?? configuration.connectTimeout
    // Parameters before the URL give way to it; those after it do not.
    var parameters = configuration.defaults(environment: environment)
    parameters.append(("dbname", configuration.url))
    parameters += PostgresConfiguration.overrides
    if hosts != address.hosts { parameters += hosts.parameters }
    self.parameters = parameters
  }

  func run() throws(PostgresError) -> End {
    let functions = library.functions
    guard let handle = start() else { throw failure("there is no memory for a connection") }
    var isOwner = true
    defer { if isOwner { functions.finish(handle) } }
    _ = functions.setNoticeReceiver(handle, composite_operations_postgres_ignore_notice, nil)
    var (deadline, place) = (PostgresDeadline(after: timeout), (host: "", port: ""))
    // Writing comes first, in any state.
    var next = Int32(2)
    while true {
      if functions.status(handle) == 1 { throw failure(library.errorMessage(handle)) }
      switch next {
      case 3:
        isOwner = false
        return .connected(
          PostgresConnection(handle, library: library, configuration: configuration, address: address))
      case 1, 2:
        let current = location(of: handle)
        // Each host has its own time limit.
        if current != place { (deadline, place) = (PostgresDeadline(after: timeout), current) }
        guard deadline.wait(for: next == 1 ? POLLIN : POLLOUT, at: functions.socket(handle)) else {
          return .silent(
            host: current.host, port: current.port, message: "the server did not answer within \(timeout)")
        }
      default:
        throw failure(library.errorMessage(handle))
      }
      next = functions.connectPoll(handle)
    }
  }

  private func start() -> OpaquePointer? {
    let copies = parameters.flatMap { [strdup($0.name), strdup($0.value)] }
    defer { for copy in copies { free(copy) } }
    var keywords = stride(from: 0, to: copies.count, by: 2).map { UnsafePointer(copies[$0]) }
    var values = stride(from: 1, to: copies.count, by: 2).map { UnsafePointer(copies[$0]) }
    keywords.append(nil)
    values.append(nil)
    return library.functions.connectStartParams(keywords, values, 1)
  }

  /// The host and the port that libpq is at.
  private func location(of handle: OpaquePointer) -> (host: String, port: String) {
    (library.text(library.functions.host(handle)), library.text(library.functions.port(handle)))
  }

  private func failure(_ message: String) -> PostgresError {
    PostgresError(.cannotConnect, message: address.shown(message), place: address.place)
  }
}
#endif
