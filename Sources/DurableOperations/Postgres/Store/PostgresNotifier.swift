#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation

/// Tells other processes what they could do, and receives their messages.
///
/// It notifies after a commit, not inside the transaction: the whole server commits notifying
/// transactions one at a time.
final class PostgresNotifier: Sendable {
  private let channel: String
  private let pool: PostgresConnectionPool
  /// Nil if nothing is received.
  private let listening: PostgresListening?
  private let receiver = LockBox<Receiver?>(nil)
  private let state = LockBox(PostgresNotifierState())
  private let queue = DispatchQueue(label: "DurableOperations.postgres.notifier", qos: .userInitiated)

  private struct Receiver {
    let heard: PostgresListening.Heard
  }

  /// How long news wait for others.
  private static let pause = DispatchTimeInterval.milliseconds(20)

  /// - Parameter listener: where to listen; nil for nowhere.
  init(channel: String, pool: PostgresConnectionPool, listener: PostgresConfiguration?) {
    self.channel = channel
    self.pool = pool
    listening = listener.map { PostgresListening($0, channel: channel) }
  }

  func listen(_ heard: @escaping PostgresListening.Heard) {
    receiver.withLock { $0 = Receiver(heard: heard) }
    listening?.begin(heard)
  }

  func close() {
    receiver.withLock { $0 = nil }
    listening?.close()
  }

  /// Sends news soon. If that fails, the other processes see the change at their next looks. This
  /// process is told if they are incomplete.
  func notify(_ news: StoreNews) {
    if let now = state.withLock({ $0.add(news) }) { send(now) }
  }

  private func send(_ news: StoreNews) {
    // This process has to look, too: it does not hear what it sends itself, and may not listen.
    if news.isIncomplete { receiver.withLock { $0 }?.heard(news) }
    let notification = PostgresStatement(
      "SELECT pg_catalog.set_config('synchronous_commit', 'off', true), pg_catalog.pg_notify($1, $2)",
      name: "composite_operations_notify")
    let pipeline = try? PostgresPipeline(.implicit, notification) { parameters throws(PostgresError) in
      try parameters.bind(channel)
      try parameters.bind(news.payload)
    }
    guard let pipeline else { return }
    if listening?.send(pipeline) != true { pool.send(pipeline) }
    queue.asyncAfter(deadline: .now() + Self.pause) { [weak self] in
      guard let self, let next = state.withLock({ $0.pauseIsOver() }) else { return }
      send(next)
    }
  }
}
#endif
