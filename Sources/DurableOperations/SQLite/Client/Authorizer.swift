import CompositeOperationsSQLite

/// Prevents statements of the user from changing what belongs to the queue: its transaction, and
/// what lasts as long as its connection.
final class Authorizer {
  /// Why a statement was refused.
  enum Refusal {
    case transaction
    case setting(String)
  }

  /// Pragmas with a value that have no lasting effect, or change only the file's own data.
  private static let harmless: Set<String> = [
    "application_id", "defer_foreign_keys", "foreign_key_check", "foreign_key_list", "index_info", "index_list",
    "index_xinfo", "integrity_check", "quick_check", "table_info", "table_list", "table_xinfo", "user_version",
  ]

  /// Whether a statement of the user is being prepared.
  var isOn = false {
    didSet { refused = nil }
  }

  private(set) var refused: Refusal?

  /// Whether one of them may have changed the queue's jobs, which users must not do.
  var hasChangedJobs = false

  /// The connection must be released before this object.
  init(of handle: OpaquePointer) {
    let call:
      @convention(c) (
        UnsafeMutableRawPointer?, Int32, UnsafePointer<CChar>?, UnsafePointer<CChar>?, UnsafePointer<CChar>?,
        UnsafePointer<CChar>?
      ) -> Int32 = { context, action, first, second, database, _ in
        guard let context else { return SQLITE_OK }
        let authorizer = Unmanaged<Authorizer>.fromOpaque(context).takeUnretainedValue()
        guard authorizer.isOn else { return SQLITE_OK }
        return authorizer.allows(action, first, second, in: database) ? SQLITE_OK : SQLITE_DENY
      }
    sqlite3_set_authorizer(handle, call, Unmanaged.passUnretained(self).toOpaque())
  }

  private func allows(
    _ action: Int32, _ first: UnsafePointer<CChar>?, _ second: UnsafePointer<CChar>?,
    in database: UnsafePointer<CChar>?
  ) -> Bool {
    func text(_ characters: UnsafePointer<CChar>?) -> String { characters.map { String(cString: $0) } ?? "" }
    switch action {
    case SQLITE_TRANSACTION: refused = .transaction
    case SQLITE_ATTACH, SQLITE_DETACH: refused = .setting("an attached database")
    case SQLITE_PRAGMA where second != nil && !Self.harmless.contains(text(first).lowercased()):
      refused = .setting("PRAGMA \(text(first))")
    // Whatever is TEMP begins as a row there, also what is made as “temp.name”, or is virtual.
    case SQLITE_INSERT where text(database) == "temp": refused = .setting("a TEMP table, view or trigger")
    case SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE:
      if ["durable_jobs", "durable_counts"].contains(text(first).lowercased()) { hasChangedJobs = true }
      return true
    default: return true
    }
    return false
  }
}
