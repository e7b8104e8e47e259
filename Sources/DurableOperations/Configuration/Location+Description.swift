#if os(macOS) || os(Linux)
import Foundation

/// Without a role and a password: a location is printed in logs and in errors of others.
extension DurableQueue.Location: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The case, with its file, or with the server and the database.
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

  /// Without children, of which one would be the URL.
  public var customMirror: Mirror { Mirror(self, children: []) }

  /// What the server of a URL and its database are called, without a role and a password. Only libpq knows where a password stands:
  /// without it nothing is shown.
  package static func place(_ url: String) -> String {
    let environment = ProcessInfo.processInfo.environment
    guard let library = try? PostgresLibrary.shared,
      let address = try? PostgresAddress(url, library: library, environment: environment)
    else { return "…" }
    return address.place
  }
}
#endif
