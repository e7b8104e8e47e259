#if os(Linux) || os(macOS)
import Foundation

/// A PostgreSQL server of this test process, in a temporary folder. It does not wait for the disk.
///
/// It ends with the process: by `atexit`, or, where that is not called, by a watcher that notices
/// the end of a pipe.
public final class PostgresServer: Sendable {
  /// The message when there is no `initdb`.
  public static let missing = "Tests of PostgreSQL are skipped: there is no initdb (apt-get install postgresql)"

  /// Whether the tests that need a server are run. With `REQUIRE_POSTGRES=1` they are, and fail
  /// where there is none.
  public static let isAvailable =
    PostgresPrograms.folder != nil || ProcessInfo.processInfo.environment["REQUIRE_POSTGRES"] == "1"

  /// A role that needs its password, ``password``; the others need none.
  public static let guardedRole = "guarded"
  /// The password of ``guardedRole``.
  public static let password = "open sesame"

  /// The folder of the Unix socket.
  public let folder: String
  /// The port, of the Unix socket as of 127.0.0.1.
  public let port: Int
  private let watcher: Process
  private let watcherInput: Pipe
  private let lastDatabase = Locked(0)

  private static let started = Result { try PostgresServer() }

  /// The server of this process, which the first call starts.
  public static var shared: PostgresServer {
    get async throws { try await onWorker { Self.started }.get() }
  }

  /// The same. The first call blocks its thread until the server has started.
  public static func sharedBlocking() throws -> PostgresServer { try started.get() }

  /// A server of a test that stops it, or restarts it. Ends when this object goes.
  public static func own() async throws -> PostgresServer {
    try await onWorker { Result { try PostgresServer() } }.get()
  }

  private init() throws {
    // The path of a Unix socket has about a hundred bytes.
    var template = Array("/tmp/pgtestXXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw CocoaError(.fileWriteUnknown) }
    folder = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    if let owner = PostgresPrograms.owner, let user = getpwnam(owner) {
      chown(folder, user.pointee.pw_uid, user.pointee.pw_gid)
    }
    (watcher, watcherInput) = try Self.watch(folder)
    try PostgresPrograms.run("initdb", ["-D", "\(folder)/data", "-U", "durable", "-A", "trust", "-N", "-E", "UTF8"])
    let rule = "all \(Self.guardedRole)"
    try Self.write(
      "local \(rule) scram-sha-256\nhost \(rule) 127.0.0.1/32 scram-sha-256\nlocal all all trust\n"
        + "host all all 127.0.0.1/32 trust\n", to: "\(folder)/data/pg_hba.conf")
    port = try Self.start(folder)
    Self.running.withLock { $0[folder] = () }
    try query("CREATE ROLE \(Self.guardedRole) LOGIN PASSWORD '\(Self.password)'")
  }

  /// On a port that is not taken while a test has stopped the server.
  private static func start(_ folder: String) throws -> Int {
    var attempts = 0
    while true {
      attempts += 1
      let port = Int(SteadyPort.random())
      let settings = """
        listen_addresses = '127.0.0.1'
        port = \(port)
        unix_socket_directories = '\(folder)'
        fsync = off
        logging_collector = off
        max_connections = 400
        shared_buffers = '32MB'

        """
      try write(settings, to: "\(folder)/data/postgresql.conf")
      do {
        try PostgresPrograms.run("pg_ctl", ["-D", "\(folder)/data", "-l", "\(folder)/log", "-w", "-t", "600", "start"])
        return port
      } catch {
        // Another server may have it.
        if attempts == SteadyPort.attempts { throw error }
      }
    }
  }

  /// Keeps the owner of the file, which only the owner may read.
  private static func write(_ text: String, to path: String) throws {
    let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    defer { try? handle.close() }
    try handle.truncate(atOffset: 0)
    try handle.write(contentsOf: Data(text.utf8))
  }

  // MARK: - Using

  /// A new database, which is empty. Returns its name.
  public func makeDatabase() async throws -> String {
    let name = "test\(lastDatabase.increment())"
    _ = try await onWorker { Result { try self.query("CREATE DATABASE \(name)") } }.get()
    return name
  }

  /// The URL of a database, over the Unix socket.
  public func url(_ database: String = "postgres", role: String = "durable") -> String {
    "postgresql://\(role)@/\(database)?host=\(folder)&port=\(port)"
  }

  /// The URL of a database, over TCP.
  ///
  /// - Parameter port: that of a proxy before the server.
  public func addressURL(_ database: String = "postgres", role: String = "durable", port: UInt16? = nil) -> String {
    "postgresql://\(role)@127.0.0.1:\(port.map(Int.init) ?? self.port)/\(database)?sslmode=disable"
  }

  /// A number that no other call gets.
  public func uniqueNumber() -> Int { lastDatabase.increment() }

  /// Runs SQL with `psql`, which blocks the thread. Returns what it prints.
  @discardableResult
  public func query(_ sql: String, in database: String = "postgres") throws -> String {
    try PostgresPrograms.run(
      "psql", ["-qAtX", "-v", "ON_ERROR_STOP=1", "-h", folder, "-p", "\(port)", "-U", "durable", "-c", sql, database],
      asOwner: false)
  }

  /// Ends the server, and starts it again.
  ///
  /// - Parameter immediate: as after a crash.
  public func restart(immediate: Bool = false) async throws {
    try await control("restart", immediate ? "immediate" : "fast")
  }

  /// Ends the server.
  public func stop() async throws { try await control("stop", "fast") }

  /// Starts the server again.
  ///
  /// - Parameter isStandby: as one that can be read, until ``promote()``.
  public func start(asStandby isStandby: Bool = false) async throws {
    if isStandby { try Data().write(to: URL(fileURLWithPath: "\(folder)/data/standby.signal")) }
    try await control("start")
  }

  /// Makes a standby take changes.
  public func promote() async throws { try await control("promote") }

  private func control(_ command: String, _ mode: String? = nil) async throws {
    let folder = folder
    let words = ["-D", "\(folder)/data", "-l", "\(folder)/log", "-w", "-t", "600"] + (mode.map { ["-m", $0] } ?? [])
    try await onWorker { Result { _ = try PostgresPrograms.run("pg_ctl", words + [command]) } }.get()
  }

  // MARK: - Ending

  private static let running: Locked<[String: Void]> = {
    atexit {
      for folder in PostgresServer.running.withLock({ $0.keys }) { PostgresServer.end(folder) }
    }
    return Locked([:])
  }()

  deinit {
    Self.running.withLock { $0[folder] = nil }
    Self.end(folder)
    // The watcher finds nothing to do.
    try? watcherInput.fileHandleForWriting.close()
  }

  private static func end(_ folder: String) {
    if let number = try? String(contentsOfFile: "\(folder)/data/postmaster.pid", encoding: .utf8).split(separator: "\n")
      .first,
      let process = Int32(number)
    {
      // An immediate end: nothing of it is kept.
      kill(process, SIGQUIT)
    }
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// A process that ends the server when this one ends, in any way.
  private static func watch(_ folder: String) throws -> (Process, Pipe) {
    let (process, pipe) = (Process(), Pipe())
    // What is started later must not keep it open.
    for handle in [pipe.fileHandleForReading, pipe.fileHandleForWriting] {
      _ = fcntl(handle.fileDescriptor, F_SETFD, FD_CLOEXEC)
    }
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = [
      "-c",
      """
      trap '' INT TERM HUP
      read -r nothing
      # What initdb is making meanwhile it goes on making for a while.
      for attempt in 1 2 3 4 5 6 7 8 9 10; do
        if [ -f "$1/data/postmaster.pid" ]; then kill -QUIT "$(head -n 1 "$1/data/postmaster.pid")"; fi
        rm -rf "$1"
        sleep 1
        if [ ! -e "$1" ]; then break; fi
      done
      """, "sh", folder,
    ]
    process.standardInput = pipe
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    return (process, pipe)
  }
}
#endif
