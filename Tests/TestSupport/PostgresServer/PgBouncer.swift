#if os(Linux) || os(macOS)
import Foundation

/// PgBouncer before a server of the tests, in transaction mode: each transaction may get another
/// session of the server.
///
/// It ends with this object, or with the process: the shell that runs it notices the end of a pipe.
public final class PgBouncer: Sendable {
  /// The message when there is none.
  public static let missing = "There is no pgbouncer (apt-get install pgbouncer)"

  private static let path: String? = {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
    return (folders + ["/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin"]).map { "\($0)/pgbouncer" }.first {
      FileManager.default.isExecutableFile(atPath: $0)
    }
  }()

  /// Whether there is one on this machine, and a server to run it before.
  public static let isAvailable = path != nil && PostgresServer.isAvailable

  /// Where clients connect to, on 127.0.0.1.
  public let port: UInt16
  private let server: PostgresServer
  private let shell: Process
  private let input: Pipe

  /// Starts one.
  ///
  /// - Parameter sessions: how many sessions of the server all clients share.
  public init(to server: PostgresServer, sessions: Int) async throws {
    self.server = server
    (port, shell, input) = try await onWorker {
      Result { () throws(any Error) -> (UInt16, Process, Pipe) in
        for _ in 0..<SteadyPort.attempts {
          let port = SteadyPort.random()
          // Another server may have it.
          if let (shell, input) = try Self.start(server, sessions, port) { return (port, shell, input) }
        }
        throw CocoaError(.executableLoad)
      }
    }.get()
  }

  deinit {
    try? input.fileHandleForWriting.close()
  }

  /// The URL of a database behind it.
  public func url(_ database: String = "postgres") -> String { server.addressURL(database, port: port) }

  /// Ends all connections, of clients and of the server, and restarts it on the same port.
  public func restart() throws {
    try input.fileHandleForWriting.write(contentsOf: Data("again\n".utf8))
  }

  private static func start(_ server: PostgresServer, _ sessions: Int, _ port: UInt16) throws -> (Process, Pipe)? {
    guard let path else { throw PostgresPrograms.Failure(description: missing) }
    var template = Array("/tmp/pgbouncerXXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw CocoaError(.fileWriteUnknown) }
    let folder = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    let settings = """
      [databases]
      * = host=\(server.folder) port=\(server.port)
      [pgbouncer]
      listen_addr = 127.0.0.1
      listen_port = \(port)
      unix_socket_dir =
      auth_type = trust
      auth_file = \(folder)/users
      pool_mode = transaction
      default_pool_size = \(sessions)
      max_client_conn = 1000

      """
    try Data(settings.utf8).write(to: URL(fileURLWithPath: "\(folder)/settings"))
    try Data("\"durable\" \"\"\n".utf8).write(to: URL(fileURLWithPath: "\(folder)/users"))
    // Its owner, which is not root, must read them.
    chmod(folder, 0o755)
    let (shell, input) = (Process(), Pipe())
    // Processes started later must not keep it open.
    for handle in [input.fileHandleForReading, input.fileHandleForWriting] {
      _ = fcntl(handle.fileDescriptor, F_SETFD, FD_CLOEXEC)
    }
    // Not every shell waits for a process if the signal of its end is blocked, as Foundation leaves
    // it.
    shell.executableURL = URL(fileURLWithPath: "/bin/bash")
    shell.arguments = [
      "-c",
      """
      trap '' INT TERM HUP
      folder=$1
      shift
      begin() { "$@" </dev/null >/dev/null 2>&1 & process=$!; }
      begin "$@"
      while read -r line; do
        kill -KILL "$process"
        wait "$process"
        begin "$@"
      done
      kill -KILL "$process"
      rm -rf "$folder"
      """, "bash", folder,
    ]
    shell.arguments! += try PostgresPrograms.asOwner + [path, "-q", "\(folder)/settings"]
    shell.standardInput = input
    shell.standardOutput = FileHandle.nullDevice
    shell.standardError = FileHandle.nullDevice
    shell.currentDirectoryURL = URL(fileURLWithPath: "/tmp")
    try shell.run()
    let url = "postgresql://durable@127.0.0.1:\(port)/postgres?sslmode=disable"
    for _ in 0..<200 {
      if (try? PostgresPrograms.run("psql", ["-qAtX", "-c", "SELECT 1", url], asOwner: false)) == "1" {
        return (shell, input)
      }
      poll(nil, 0, 50)
    }
    try input.fileHandleForWriting.close()
    return nil
  }
}
#endif
