/// An ordered list of what happened, written from any thread.
///
/// Tests compare ``events`` with the expected order, and wait for an event instead of sleeping.
public final class EventRecorder<Event: Sendable & Equatable>: Sendable {
  private struct State {
    var events: [Event] = []
    var waiters: [(condition: @Sendable ([Event]) -> Bool, resume: @Sendable () -> Void)] = []
  }

  private let state = Locked(State())

  /// Makes an empty recorder.
  public init() {}

  /// Everything recorded so far, in order.
  public var events: [Event] {
    state.withLock { $0.events }
  }

  /// How many events were recorded so far.
  public var count: Int {
    state.withLock { $0.events.count }
  }

  /// How often `event` was recorded so far.
  public func count(of event: Event) -> Int {
    events.count { $0 == event }
  }

  /// Whether `event` was recorded.
  public func contains(_ event: Event) -> Bool {
    events.contains(event)
  }

  /// Appends `event`, then resumes those who waited for it.
  public func record(_ event: Event) {
    let due = state.withLock { state in
      state.events.append(event)
      guard !state.waiters.isEmpty else { return [@Sendable () -> Void]() }
      let events = state.events
      let due = state.waiters.filter { $0.condition(events) }
      state.waiters.removeAll { $0.condition(events) }
      return due.map(\.resume)
    }
    for resume in due { resume() }
  }

  /// Waits until `condition` holds for the events. It is called under the recorder's lock and must not call back.
  public func wait(until condition: @escaping @Sendable ([Event]) -> Bool) async {
    await withCheckedContinuation { continuation in
      let holds = state.withLock { state in
        guard !condition(state.events) else { return true }
        state.waiters.append((condition, { continuation.resume() }))
        return false
      }
      if holds { continuation.resume() }
    }
  }

  /// Waits until `event` was recorded.
  public func wait(for event: Event) async {
    await wait { $0.contains(event) }
  }

  /// Waits until at least `count` events were recorded.
  public func wait(forCount count: Int) async {
    await wait { $0.count >= count }
  }
}
