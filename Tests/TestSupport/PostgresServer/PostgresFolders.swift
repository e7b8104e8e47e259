#if os(Linux) || os(macOS)
import Foundation

/// Two folders of Unix sockets with libpq's default port: a server that never answers, and, by a
/// symbolic link, one of the tests. They go with this object.
public final class PostgresFolders: Sendable {
  /// That of the server that never answers.
  public var silent: String { "\(folder)/a" }
  /// That of the other one.
  public var answering: String { "\(folder)/b" }

  private let folder: String
  private let descriptor: Int32

  /// - Parameter server: the one that answers.
  public init(to server: PostgresServer) throws {
    // The path of a Unix socket has about a hundred bytes.
    var template = Array("/tmp/pghostXXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw CocoaError(.fileWriteUnknown) }
    let folder = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    let socket = ".s.PGSQL.5432"
    do {
      for name in ["a", "b"] {
        try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: false)
      }
      try FileManager.default.createSymbolicLink(
        atPath: "\(folder)/b/\(socket)", withDestinationPath: "\(server.folder)/.s.PGSQL.\(server.port)")
      descriptor = try HTTPSocket.listen(at: "\(folder)/a/\(socket)")
    } catch {
      try? FileManager.default.removeItem(atPath: folder)
      throw error
    }
    self.folder = folder
  }

  deinit {
    HTTPSocket.closeDescriptor(descriptor)
    try? FileManager.default.removeItem(atPath: folder)
  }
}
#endif
