#if os(macOS) || os(Linux)
import Foundation

/// Leaves out the role and the password: logs and errors print locations.
extension DurableQueue.Location: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The case with its file, or with the server and the database.
  public var description: String {
    switch self {
    case .file(let url): "file(\(url.path))"
    case .existingFile(let url): "existingFile(\(url.path))"
    case .readOnlyFile(let url): "readOnlyFile(\(url.path))"
    case .memory: "memory"
    case .postgres(let url, let options): "postgres(\(Self.place(url)), schema: \(options.schema))"
    case .existingPostgres(let url, let options): "existingPostgres(\(Self.place(url)), schema: \(options.schema))"
    }
  }

  /// The same as ``description``.
  public var debugDescription: String { description }

  /// Has no children: one of them would be the URL.
  public var customMirror: Mirror { Mirror(self, children: []) }

  /// The server and the database of a URL, without the role and the password. Only libpq knows
  /// where a password stands, so without libpq this shows nothing.
  package static func place(_ url: String) -> String {
    let environment = ProcessInfo.processInfo.environment
    guard let library = try? PostgresLibrary.shared,
      let address = try? PostgresAddress(url, library: library, environment: environment)
    else { return "…" }
    return address.place
  }
}
#endif
