#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation

/// Tells other processes that there may be something to do. After the commit, for transactions that notify commit one at a time in
/// the whole server.
final class PostgresNotifier: Sendable {
  init(schema: String, timekeeper: Timekeeper) {}

  func notify(_ lanes: Set<Int64>, hasCancelRequests: Bool) {}

  func close() {}
}
#endif
