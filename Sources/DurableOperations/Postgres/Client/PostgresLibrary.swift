#if os(macOS) || os(Linux)
import CompositeOperationsPostgres
import Foundation

/// libpq, opened for the first connection: programs that use SQLite never load it.
final class PostgresLibrary: @unchecked Sendable {  // pointers to functions, which never change
  let functions: CompositeOperationsPostgresFunctions
  /// The path or the name under which it was found.
  let path: String

  /// The first version that has `PQpipelineSync`.
  static let oldest: Int32 = 140_000
  /// The environment variable that names the library to use.
  static let variable = "DURABLE_LIBPQ"

  private init(_ functions: CompositeOperationsPostgresFunctions, path: String) {
    self.functions = functions
    self.path = path
  }

  /// The library of this process.
  static var shared: PostgresLibrary {
    get throws(PostgresError) { try opened.get() }
  }

  private static let opened = open(
    asked: ProcessInfo.processInfo.environment[variable], candidates: candidates)

  /// The text of a connection's last error.
  func errorMessage(_ connection: OpaquePointer) -> String { text(functions.errorMessage(connection)) }

  /// A text of libpq's; empty where there is none.
  func text(_ characters: UnsafePointer<CChar>?) -> String { characters.map { String(cString: $0) } ?? "" }

  /// The number of its version, such as 150018.
  var version: Int32 { functions.libVersion() }

  /// Opens the library that was asked for, and only that one: a mistyped path must not open another
  /// library. Otherwise the first usable candidate.
  static func open(
    asked: String?, candidates: [String], oldest: Int32 = oldest
  ) -> Result<PostgresLibrary, PostgresError> {
    let asked = asked.flatMap { $0.isEmpty ? nil : $0 }
    var (reasons, isTooOld) = ([String](), false)
    for path in asked.map({ [$0] }) ?? candidates {
      var functions = CompositeOperationsPostgresFunctions()
      var reason = [CChar](repeating: 0, count: 512)
      switch composite_operations_postgres_open(path, oldest, &functions, &reason, reason.count) {
      case CompositeOperationsPostgresOpened: return .success(PostgresLibrary(functions, path: path))
      case CompositeOperationsPostgresTooOld: isTooOld = true
      default: break
      }
      reasons.append(String(decoding: reason.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self))
    }
    let source = asked == nil ? "" : "\(variable): "
    return .failure(
      PostgresError(
        isTooOld ? .clientLibraryTooOld : .clientLibraryMissing, message: source + reasons.joined(separator: "; ")))
  }

  /// The possible paths, the likeliest first.
  static var candidates: [String] {
    #if os(macOS)
    let folders = ["/opt/homebrew", "/usr/local"].flatMap { prefix in
      // Homebrew keeps libpq out of its common folder, since PostgreSQL brings its own.
      ["\(prefix)/opt/libpq/lib"] + versions.map { "\(prefix)/opt/postgresql@\($0)/lib/postgresql" }
        + versions.map { "\(prefix)/lib/postgresql@\($0)" } + ["\(prefix)/lib"]
    }
    let others =
      ["/Applications/Postgres.app/Contents/Versions/latest/lib"] + versions.map { "/opt/local/lib/postgresql\($0)" }
    // A program may bring its own, in a folder of its run path. Not the bare name: for it dlopen
    // also looks into the working directory, where others may have put a library.
    return ["@rpath/libpq.5.dylib"] + (folders + others).map { "\($0)/libpq.5.dylib" }
    #else
    return ["libpq.so.5"]
    #endif
  }

  /// The newest first.
  private static let versions = (14...20).reversed()
}
#endif
