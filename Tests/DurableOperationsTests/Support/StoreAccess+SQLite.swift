@testable import DurableOperations

extension StoreAccess {
  /// Uses what is behind the sessions of a file.
  func withSQLite<R>(_ body: (SQLiteStore) throws -> R) throws -> R {
    try sync { session in
      guard let session = session as? SQLiteSession else { throw TestFailure(text: "it is not SQLite") }
      return try body(session.store)
    }
  }
}
