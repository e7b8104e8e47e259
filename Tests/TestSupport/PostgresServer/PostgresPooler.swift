#if os(Linux) || os(macOS)
import Foundation

/// A PgBouncer before a server. Each transaction gets one of its few sessions: `pool_mode = transaction`.
///
/// It ends with this object, and with the process.
public final class PostgresPooler: Sendable {
  /// Where its program is; nil if there is none.
  private static let program: String? = {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
    return (folders + ["/usr/sbin", "/opt/homebrew/bin", "/usr/local/bin"]).map { "\($0)/pgbouncer" }.first {
      FileManager.default.isExecutableFile(atPath: $0)
    }
  }()

  /// Whether there is a program to run, and a server to run it before.
  public static let isAvailable = program != nil && PostgresServer.isAvailable

  /// The folder of its Unix socket, which no other one has: a port might be taken.
  private let folder: String
  private static let port = 6432
  private let input: Pipe

  /// Starts one. Everybody is let in, as the superuser.
  ///
  /// - Parameter sessions: how many sessions of the server it has for each database.
  public init(before server: PostgresServer, sessions: Int) async throws {
    guard let program = Self.program else { throw PostgresPrograms.Failure(description: "there is no pgbouncer") }
    folder = "\(server.folder)/pooler\(server.uniqueNumber())"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    if let owner = PostgresPrograms.owner, let user = getpwnam(owner) {
      chown(folder, user.pointee.pw_uid, user.pointee.pw_gid)
    }
    let settings = """
      [databases]
      * = host=\(server.folder) port=\(server.port) user=durable
      [pgbouncer]
      listen_addr =
      listen_port = \(Self.port)
      unix_socket_dir = \(folder)
      auth_type = any
      pool_mode = transaction
      default_pool_size = \(sessions)

      """
    let configuration = "\(folder)/pgbouncer.ini"
    try Data(settings.utf8).write(to: URL(fileURLWithPath: configuration))
    input = try Self.run(try PostgresPrograms.asOwner + [program, "-q", configuration])
    let words = ["-qAtX", "-h", folder, "-p", "\(Self.port)", "-U", "durable", "-c", "SELECT 1", "postgres"]
    while await onWorker({ (try? PostgresPrograms.run("psql", words, asOwner: false)) == nil }) {
      try Task.checkCancellation()
    }
  }

  deinit {
    try? input.fileHandleForWriting.close()
  }

  /// Runs a program until a pipe ends. Returns the pipe.
  private static func run(_ words: [String]) throws -> Pipe {
    let (process, pipe) = (Process(), Pipe())
    // What is started later must not keep it open.
    for handle in [pipe.fileHandleForReading, pipe.fileHandleForWriting] {
      _ = fcntl(handle.fileDescriptor, F_SETFD, FD_CLOEXEC)
    }
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments =
      ["-c", #"trap '' INT TERM HUP; "$@" </dev/null & read -r nothing; kill -KILL $!"#, "sh"] + words
    process.standardInput = pipe
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    return pipe
  }

  /// The URL of a database behind it.
  public func url(_ database: String = "postgres") -> String {
    "postgresql://durable@/\(database)?host=\(folder)&port=\(Self.port)"
  }
}
#endif
