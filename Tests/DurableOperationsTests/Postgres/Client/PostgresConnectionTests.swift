#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

@Suite(.timeLimit(.minutes(30))) struct PostgresLibraryTests {
  @Test func open_noSuchLibrary_saysWhatToInstall() {
    let error = postgresError { _ = try PostgresLibrary.open(asked: nil, candidates: ["/none/libpq.so.5"]).get() }
    #expect(error?.code == .clientLibraryMissing)
    #expect(error?.description.contains("/none/libpq.so.5") == true)
    #expect(error?.description.contains("libpq5 (Debian, Ubuntu)") == true)
  }

  @Test func open_mistypedVariable_takesNoOther() {
    let error = postgresError {
      _ = try PostgresLibrary.open(asked: "/none/mistyped.so", candidates: PostgresLibrary.candidates).get()
    }
    #expect(error?.code == .clientLibraryMissing)
    #expect(error?.description.contains("DURABLE_LIBPQ: ") == true)
    #expect(error?.description.contains("mistyped") == true)
  }

  @Test func open_anotherLibrary_namesWhatIsMissing() throws {
    #if os(macOS)
    let other = "/usr/lib/libSystem.B.dylib"
    #else
    let other = "libm.so.6"
    #endif
    let error = postgresError { _ = try PostgresLibrary.open(asked: other, candidates: []).get() }
    #expect(error?.code == .clientLibraryMissing)
    #expect(error?.message.contains("has no PQlibVersion") == true)
  }

  @Test(.needsPostgres) func open_olderThanNeeded_saysSo() throws {
    let error = postgresError {
      _ = try PostgresLibrary.open(asked: nil, candidates: PostgresLibrary.candidates, oldest: 990_000).get()
    }
    #expect(error?.code == .clientLibraryTooOld)
    #expect(error?.description.contains("PostgreSQL 14") == true)
  }

  @Test(.needsPostgres) func open_secondCandidate_isFound() throws {
    let library = try PostgresLibrary.open(asked: "", candidates: ["/none/libpq.so.5"] + PostgresLibrary.candidates)
      .get()
    #expect(library.version >= PostgresLibrary.oldest)
    #expect(library.path != "/none/libpq.so.5")
  }

  #if os(macOS)
  @Test func candidates_nameNothing_inTheWorkingDirectory() {
    let candidates = PostgresLibrary.candidates
    #expect(!candidates.isEmpty)
    for path in candidates { #expect(path.hasPrefix("/") || path.hasPrefix("@rpath/"), "\(path)") }
  }
  #endif
}

@Suite(.timeLimit(.minutes(30)), .needsPostgres) struct PostgresConnectionTests {
  private func failure(_ url: String, timeout: Duration = .seconds(1200)) async -> PostgresError? {
    var configuration = PostgresConfiguration(url: url)
    configuration.connectTimeout = timeout
    return await onWorker { [configuration] in postgresError { _ = try PostgresConnection.connect(configuration) } }
  }

  @Test func connect_overBothSockets_isIdle() async throws {
    let database = try await PostgresDatabase()
    for url in [database.server.url(database.name), database.server.addressURL(database.name)] {
      let connection = try PostgresConnection.connect(PostgresConfiguration(url: url))
      #expect(connection.transactionState == .idle)
      #expect(connection.serverVersion >= PostgresConfiguration.oldestServer)
      #expect(connection.serverProcess > 0)
      #expect(!connection.usesTLS)
      #expect(connection.setting("server_encoding") == "UTF8")
      #expect(try connection.text("SELECT current_database()::text") == database.name)
    }
  }

  @Test func connect_silentServer_endsByItsDeadline() async throws {
    let silent = try SilentPort(takesConnections: true)
    let error = await failure("postgresql://a@127.0.0.1:\(silent.port)/b", timeout: .milliseconds(50))
    #expect(error?.code == .cannotConnect)
    #expect(error?.message.contains("did not answer within") == true)
    #expect(error?.place == "127.0.0.1:\(silent.port)/b")
  }

  @Test func connect_firstHostSilent_takesTheNext() async throws {
    let database = try await PostgresDatabase()
    let (silent, refusing) = (try SilentPort(takesConnections: true), try RefusingPort())
    let hosts = "127.0.0.1:\(silent.port),127.0.0.1:\(refusing.port),127.0.0.1:\(database.server.port)"
    var configuration = PostgresConfiguration(url: "postgresql://durable@\(hosts)/\(database.name)")
    var connection: PostgresConnection?
    // On a busy machine the last host, too, may not answer within a short time.
    for milliseconds in [300, 3000, 10_000, 100_000] where connection == nil {
      configuration.connectTimeout = .milliseconds(milliseconds)
      connection = await onWorker { [configuration] in try? PostgresConnection.connect(configuration) }
    }
    #expect(try connection?.integer("SELECT 7") == 7)
  }

  @Test(arguments: [true, false])
  func connect_firstHostSilent_andNoPortNamed_takesTheNext(asURL: Bool) async throws {
    let database = try await PostgresDatabase()
    let folders = try PostgresFolders(to: database.server)
    let hosts = "\(folders.silent),\(folders.answering)"
    var configuration = PostgresConfiguration(
      url: asURL
        ? "postgresql://durable@\(hosts.replacing("/", with: "%2F"))/\(database.name)"
        : "host=\(hosts) user=durable dbname=\(database.name)")
    var connection: PostgresConnection?
    // On a busy machine the other host, too, may not answer within a short time.
    for milliseconds in [300, 3000, 10_000, 100_000] where connection == nil {
      configuration.connectTimeout = .milliseconds(milliseconds)
      connection = await onWorker { [configuration] in try? PostgresConnection.connect(configuration) }
    }
    #expect(try connection?.integer("SELECT 7") == 7)
    withExtendedLifetime(folders) {}
  }

  @Test(arguments: [
    ("postgresql://r@a,b/db", "a,b", ",", "a,b/db"), ("postgresql://r@a:5433,b/db", "a,b", "5433,", "a:5433,b/db"),
    ("postgresql:///db?host=a,b&port=5433", "a,b", "5433", "a:5433,b:5433/db"),
    ("host=a,b dbname=db", "a,b", "", "a,b/db"), ("dbname=db", "c,d", "5434,5435", "c:5434,d:5435/db"),
  ])
  func address_hostsAndPorts_areThoseOfLibpq(url: String, names: String, ports: String, place: String) throws {
    let environment = url == "dbname=db" ? ["PGHOST": "c,d", "PGPORT": "5434,5435"] : [:]
    let address = try PostgresAddress(url, library: PostgresLibrary.shared, environment: environment)
    #expect(address.hosts == PostgresHostList(names: names, addresses: "", ports: ports))
    #expect(address.place == place)
  }

  @Test func address_variableForARandomOrder_isSeen() throws {
    let address = try PostgresAddress(
      "host=a,b", library: PostgresLibrary.shared, environment: ["PGLOADBALANCEHOSTS": "random"])
    #expect(address.hosts == PostgresHostList(names: "a,b", addresses: "", ports: "", isShuffled: true))
  }

  @Test(
    .enabled(if: ((try? PostgresLibrary.shared)?.version ?? 0) >= 160_000, "This libpq is older than PostgreSQL 16"))
  func connect_randomOrder_passesOverNoHostThatAnswers() async throws {
    let database = try await PostgresDatabase()
    let silent = try SilentPort(takesConnections: true)
    let hosts = "127.0.0.1:\(database.server.port),127.0.0.1:\(silent.port)"
    var configuration = PostgresConfiguration(
      url: "postgresql://durable@\(hosts)/\(database.name)?load_balance_hosts=random")
    // Some of them nearly surely begin with the silent host, which is the last of the URL.
    for _ in 1...8 {
      var connection: PostgresConnection?
      // On a busy machine the other host, too, may not answer within a short time.
      for milliseconds in [300, 3000, 10_000, 100_000] where connection == nil {
        configuration.connectTimeout = .milliseconds(milliseconds)
        connection = await onWorker { [configuration] in try? PostgresConnection.connect(configuration) }
      }
      #expect(try connection?.integer("SELECT 7") == 7)
    }
  }

  @Test func connect_timeoutInURL_wins() async throws {
    let silent = try SilentPort(takesConnections: true)
    let error = await failure("postgresql://a@127.0.0.1:\(silent.port)/b?connect_timeout=1")
    #expect(error?.message.contains("1.0 seconds") == true)
  }

  @Test func connect_refusedPort_saysSo() async throws {
    let refusing = try RefusingPort()
    let error = await failure("postgresql://a@127.0.0.1:\(refusing.port)/b")
    #expect(error?.code == .cannotConnect)
    #expect(error?.message.contains("refused") == true)
  }

  @Test func connect_noSuchDatabase_saysSo() async throws {
    let server = try await PostgresServer.shared
    let error = await failure(server.url("nowhere"))
    #expect(error?.code == .cannotConnect)
    #expect(error?.message.contains("\"nowhere\" does not exist") == true)
  }

  /// The server cuts a longer name, so that another database or role would be meant.
  @Test func connect_nameAbove63Bytes_isRefusedWithItsLength() async throws {
    let server = try await PostgresServer.shared
    let name = "long\(server.uniqueNumber())".padding(toLength: 63, withPad: "x", startingAt: 0)
    try server.query("CREATE DATABASE \(name)")
    try server.query("CREATE ROLE \(name) LOGIN")
    let connection = try PostgresConnection.connect(.patient(server.url(name, role: name)))
    #expect(try connection.text("SELECT current_user") == name)
    for (url, what) in [(server.url(name + "yy"), "database"), (server.url(role: name + "yy"), "role")] {
      let error = postgresError { _ = try PostgresConnection.connect(.patient(url)) }
      #expect(error?.code == .cannotConnect)
      #expect(error?.message == "the name of the \(what) has 65 bytes, and a server knows 63 at most")
    }
  }

  @Test func connect_wrongPassword_doesNotShowIt() async throws {
    let server = try await PostgresServer.shared
    let secret = "hush%20hush"
    let error = await failure(
      "postgresql://\(PostgresServer.guardedRole):\(secret)@127.0.0.1:\(server.port)/postgres")
    #expect(error?.code == .cannotConnect)
    #expect(error?.description.contains("password authentication failed") == true)
    #expect(error?.description.contains("hush") == false)
  }

  @Test func connect_rightPassword_isLetIn() async throws {
    let server = try await PostgresServer.shared
    let password = PostgresServer.password.replacing(" ", with: "%20")
    let url = "postgresql://\(PostgresServer.guardedRole):\(password)@127.0.0.1:\(server.port)/postgres"
    let connection = try PostgresConnection.connect(PostgresConfiguration(url: url))
    #expect(try connection.text("SELECT current_user::text") == PostgresServer.guardedRole)
  }

  @Test(arguments: [
    "postgresql://u:se cret@h/d?nonsense=1", "postgresql://u:secret%ZZ@h/d", "postgres//u:secret@h", "host=h secret",
    "password=secret port=x host=127.0.0.1", "postgresql://u:s/ecret@h/d?host=127.0.0.1&port=1",
    "postgresql://u:5/ecret@h/d", "postgresql://u:se@cret@h/d", "postgresql://u:?@cret@h/d",
  ])
  func connect_unreadableURL_doesNotShowThePassword(url: String) async {
    let error = await failure(url)
    #expect(error?.code == .cannotConnect)
    #expect(error?.description.contains("cret") == false)
  }

  @Test func connect_settingsInURL_winOverDefaults() async throws {
    let server = try await PostgresServer.shared
    let named = try PostgresConnection.connect(
      PostgresConfiguration(url: server.url() + "&application_name=mine&client_encoding=LATIN1"))
    #expect(try named.text("SHOW application_name") == "mine")
    #expect(try named.text("SHOW client_encoding") == "UTF8")
    let unnamed = try PostgresConnection.connect(PostgresConfiguration(url: server.url()))
    #expect(try unnamed.text("SHOW application_name") == "durable")
  }

  @Test func defaults_variableIsSet_giveWayToIt() {
    let configuration = PostgresConfiguration(url: "")
    #expect(configuration.defaults(environment: [:]).contains { $0.name == "gssencmode" })
    #expect(!configuration.defaults(environment: ["PGGSSENCMODE": "prefer"]).contains { $0.name == "gssencmode" })
  }

  @Test func connect_settings_holdForTheSession() async throws {
    let database = try await PostgresDatabase()
    var configuration = database.configuration()
    configuration.settings = [("statement_timeout", "7s"), ("search_path", "it's\\")]
    let connection = try PostgresConnection.connect(configuration)
    #expect(try connection.text("SHOW statement_timeout") == "7s")
    #expect(try connection.text("SHOW search_path") == "it's\\")
    configuration.isPooled = true
    let pooled = try PostgresConnection.connect(configuration)
    #expect(try pooled.text("SHOW statement_timeout") == "0")
  }

  @Test func connect_andClose_leavesNoDescriptor() async throws {
    let database = try await PostgresDatabase()
    let connection = try await database.connect()
    let descriptor = connection.descriptor
    #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
    let process = connection.serverProcess
    connection.close()
    #expect(!connection.isAlive())
    #expect(postgresError { try connection.execute("SELECT 1") }?.code == .connectionLost)
    let other = try await database.connect()
    try await until(try other.integer("SELECT count(*) FROM pg_stat_activity WHERE pid = \(process)") == 0)
  }

  @Test func interrupt_whileExecuting_failsItAlone() async throws {
    let database = try await PostgresDatabase()
    let connection = try await database.connect()
    let code = await withTaskGroup(of: PostgresError.Code?.self) { group in
      group.addTask {
        await onWorker { postgresError { try connection.execute("SELECT pg_sleep(3000)") }?.code }
      }
      let other = try? await database.connect()
      let sleeps =
        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(3000)' AND pid = "
        + "\(connection.serverProcess) AND state = 'active' AND wait_event = 'PgSleep'"
      await until((try? other?.integer(sleeps)) == 1)
      await onWorker { connection.interrupt() }
      return await group.next() ?? nil
    }
    #expect(code == .busy)
    #expect(try connection.integer("SELECT 1") == 1)
  }
}
#endif
