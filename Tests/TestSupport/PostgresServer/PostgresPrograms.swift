#if os(Linux) || os(macOS)
import Foundation

/// The programs of a PostgreSQL server on this machine.
enum PostgresPrograms {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// The folder of `initdb`, and of the programs beside it; nil if there is none.
  static let folder: String? = candidates.first {
    FileManager.default.isExecutableFile(atPath: "\($0)/initdb")
  }

  private static var candidates: [String] {
    var folders: [String] = []
    if let folder = try? output(of: "/usr/bin/env", ["pg_config", "--bindir"]) { folders.append(folder) }
    let debian = "/usr/lib/postgresql"
    let versions = (try? FileManager.default.contentsOfDirectory(atPath: debian)) ?? []
    folders += versions.sorted { ($0 as NSString).doubleValue > ($1 as NSString).doubleValue }.map {
      "\(debian)/\($0)/bin"
    }
    for prefix in ["/opt/homebrew", "/usr/local"] {
      folders += (13...20).reversed().map { "\(prefix)/opt/postgresql@\($0)/bin" } + ["\(prefix)/opt/postgresql/bin"]
    }
    return folders + (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
  }

  /// `initdb` and the server refuse root: then another user runs them.
  static let owner: String? = {
    guard getuid() == 0 else { return nil }
    return getpwnam("postgres") == nil ? "nobody" : "postgres"
  }()

  /// The command prefix for running a program as the owner of the server.
  static var asOwner: [String] {
    get throws {
      guard let owner else { return [] }
      let group = try output(of: "/usr/bin/env", ["id", "-g", owner])
      return ["setpriv", "--reuid=\(owner)", "--regid=\(group)", "--clear-groups"]
    }
  }

  /// Runs a program to its end, which blocks the thread.
  @discardableResult
  static func run(_ program: String, _ arguments: [String], asOwner isOwner: Bool = true) throws -> String {
    guard let folder else { throw Failure(description: PostgresServer.missing) }
    let words = (isOwner ? try asOwner : []) + ["\(folder)/\(program)"] + arguments
    return try output(of: "/usr/bin/env", words)
  }

  private static func output(of path: String, _ arguments: [String]) throws -> String {
    let process = Process()
    // For Foundation a process has ended when all copies of a socket are closed. A server that
    // stays would keep one, and also the sockets of other processes.
    process.executableURL = URL(fileURLWithPath: "/bin/bash")
    process.arguments =
      [
        "-c",
        #"for file in /dev/fd/*; do file=${file##*/}; if [ "$file" -gt 2 ]; then eval "exec $file>&-"; fi; done; exec "$@""#,
        "bash", path,
      ] + arguments
    // A folder that the owner can enter.
    process.currentDirectoryURL = URL(fileURLWithPath: "/tmp")
    var environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("PG") }
    environment["LC_ALL"] = "C"
    process.environment = environment
    // To a file, because a server would keep a pipe open.
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("PostgresPrograms-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: file) }
    guard FileManager.default.createFile(atPath: file.path, contents: nil) else { throw CocoaError(.fileWriteUnknown) }
    let handle = try FileHandle(forWritingTo: file)
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = handle
    process.standardError = handle
    try process.run()
    process.waitUntilExit()
    try handle.close()
    let text = String(decoding: try Data(contentsOf: file), as: UTF8.self).trimmingCharacters(
      in: .whitespacesAndNewlines)
    guard process.terminationStatus == 0 else {
      throw Failure(description: "\(arguments.joined(separator: " ")) failed: \(text.suffix(2000))")
    }
    return text
  }
}
#endif
