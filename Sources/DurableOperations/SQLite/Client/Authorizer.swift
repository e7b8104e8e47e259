import CompositeOperationsSQLite

/// Keeps the user's statements from changing what belongs to the queue: its transaction, and the settings of its connection,
/// which would stay as they are changed.
final class Authorizer {
  /// What a statement wanted.
  enum Refusal {
    case transaction
    case setting(String)
  }

  /// Pragmas that take a value and change nothing that stays, or nothing but the file's own data.
  private static let harmless: Set<String> = [
    "application_id", "defer_foreign_keys", "foreign_key_check", "foreign_key_list", "index_info", "index_list",
    "index_xinfo", "integrity_check", "quick_check", "table_info", "table_list", "table_xinfo", "user_version",
  ]

  /// Whether it is one of the user's statements that is being prepared.
  var isOn = false {
    didSet { refused = nil }
  }

  private(set) var refused: Refusal?

  /// Whether one of them may have changed the queue's jobs themselves, which it was asked not to.
  var hasChangedJobs = false

  /// The connection must go before this does.
  init(of handle: OpaquePointer) {
    let call:
      @convention(c) (
        UnsafeMutableRawPointer?, Int32, UnsafePointer<CChar>?, UnsafePointer<CChar>?, UnsafePointer<CChar>?,
        UnsafePointer<CChar>?
      ) -> Int32 = { context, action, first, second, _, _ in
        guard let context else { return SQLITE_OK }
        let authorizer = Unmanaged<Authorizer>.fromOpaque(context).takeUnretainedValue()
        guard authorizer.isOn else { return SQLITE_OK }
        return authorizer.allows(action, first, second) ? SQLITE_OK : SQLITE_DENY
      }
    sqlite3_set_authorizer(handle, call, Unmanaged.passUnretained(self).toOpaque())
  }

  private func allows(_ action: Int32, _ first: UnsafePointer<CChar>?, _ second: UnsafePointer<CChar>?) -> Bool {
    func text(_ characters: UnsafePointer<CChar>?) -> String { characters.map { String(cString: $0) } ?? "" }
    switch action {
    case SQLITE_TRANSACTION: refused = .transaction
    case SQLITE_ATTACH, SQLITE_DETACH: refused = .setting("an attached database")
    case SQLITE_PRAGMA where second != nil && !Self.harmless.contains(text(first).lowercased()):
      refused = .setting("PRAGMA \(text(first))")
    case SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE:
      if ["durable_jobs", "durable_counts"].contains(text(first).lowercased()) { hasChangedJobs = true }
      return true
    default: return true
    }
    return false
  }
}
