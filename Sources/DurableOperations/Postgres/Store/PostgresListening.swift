#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation

/// Listens to a channel, and reconnects when the connection was lost. It gives up only when it is
/// closed.
///
/// ```
/// off ── begin ──▶ connecting ── connected ──▶ listening ── lost ──▶ pausing ── the pause is over ──▶ connecting
///                      └── failed ──▶ pausing                    any ── close ──▶ closed
/// ```
final class PostgresListening: Sendable {
  typealias Heard = @Sendable (StoreNews) -> Void

  private enum Phase {
    case off
    case connecting
    case listening(PostgresListener)
    case pausing
    case closed
  }

  private struct State {
    var phase = Phase.off
    var heard: Heard?
    var backoff = PostgresBackoff()
  }

  private let configuration: PostgresConfiguration
  private let channel: String
  private let state = LockBox(State())
  private let queue = DispatchQueue(label: "DurableOperations.postgres.listening", qos: .userInitiated)

  init(_ configuration: PostgresConfiguration, channel: String) {
    self.configuration = configuration
    self.channel = channel
  }

  /// Begins to listen; if it listens already, replaces the handler.
  func begin(_ heard: @escaping Heard) {
    let isFirst = state.withLock { state in
      state.heard = heard
      guard case .off = state.phase else { return false }
      state.phase = .connecting
      return true
    }
    if isFirst { queue.async { [weak self] in self?.connect() } }
  }

  func close() {
    let listener: PostgresListener? = state.withLock { state in
      defer { (state.phase, state.heard) = (.closed, nil) }
      if case .listening(let listener) = state.phase { return listener }
      return nil
    }
    listener?.close()
  }

  /// Sends a pipeline on the listening connection. Returns false if there is none.
  func send(_ pipeline: PostgresPipeline) -> Bool {
    let listener: PostgresListener? = state.withLock { state in
      if case .listening(let listener) = state.phase { listener } else { nil }
    }
    guard let listener else { return false }
    listener.send(pipeline) { _ in }
    return true
  }

  // MARK: - Connecting, on the queue

  private func connect() {
    let handlers = PostgresListener.Handlers(
      heard: { [weak self] payload in self?.tell(StoreNews(payload: payload)) },
      lost: { [weak self] _ in self?.pause() })
    do throws(PostgresError) {
      let listener = try PostgresListener(configuration, channel: channel, handlers: handlers)
      let isWanted = state.withLock { state in
        guard case .connecting = state.phase else { return false }
        state.phase = .listening(listener)
        state.backoff.reset()
        return true
      }
      guard isWanted else { return listener.close() }
      // Notifications before this moment were lost.
      tell(StoreNews(isIncomplete: true))
    } catch {
      pause()
    }
  }

  private func tell(_ news: StoreNews) {
    state.withLock { $0.heard }?(news)
  }

  private func pause() {
    var generator: any RandomNumberGenerator = SystemRandomNumberGenerator()
    let pause: Duration? = state.withLock { state in
      if case .closed = state.phase { return nil }
      state.phase = .pausing
      return state.backoff.next(using: &generator)
    }
    guard let pause else { return }
    queue.asyncAfter(deadline: .now() + .milliseconds(Int(pause.milliseconds))) { [weak self] in
      guard let self else { return }
      let isWanted = state.withLock { state in
        guard case .pausing = state.phase else { return false }
        state.phase = .connecting
        return true
      }
      if isWanted { connect() }
    }
  }
}
#endif
