import CompositeOperations

/// An ordered list of events, recorded from any thread.
///
/// Tests compare ``events`` with the expected order, and wait for an event instead of sleeping.
///
/// ```swift
/// let log = EventRecorder<String>()
/// operation.completion = { _ in log.record("settled") }
/// …
/// await log.wait(for: "settled")
/// #expect(log.events == ["started", "settled"])
/// ```
public final class EventRecorder<Event: Sendable & Equatable>: Sendable {
  private struct Waiter {
    let number: Int
    let condition: @Sendable ([Event]) -> Bool
    let continuation: CheckedContinuation<Void, Never>
  }

  private struct State {
    var events: [Event] = []
    var waiters: [Waiter] = []
    var lastNumber = 0
  }

  private let state = LockBox(State())

  /// Makes an empty recorder.
  public init() {}

  /// The events so far, in order.
  public var events: [Event] {
    state.withLock { $0.events }
  }

  /// The number of events so far.
  package var count: Int {
    state.withLock { $0.events.count }
  }

  /// How often `event` was recorded so far.
  package func count(of event: Event) -> Int {
    events.count { $0 == event }
  }

  /// Whether `event` was recorded.
  package func contains(_ event: Event) -> Bool {
    events.contains(event)
  }

  /// Appends `event`, then resumes the tasks that waited for it.
  public func record(_ event: Event) {
    let waiting: (events: [Event], waiters: [Waiter])? = state.withLock { state in
      state.events.append(event)
      return state.waiters.isEmpty ? nil : (state.events, state.waiters)
    }
    guard let waiting else { return }
    for waiter in waiting.waiters where waiter.condition(waiting.events) { resume(waiter.number) }
  }

  /// Suspends the task until the events meet a condition, or until the task is cancelled, as by the
  /// time limit of a test.
  ///
  /// - Parameter condition: whether the events meet it. Once true, it has to stay true when more
  ///   events follow. Called outside of all locks, now and after each event, on the thread that
  ///   records.
  public func wait(until condition: @escaping @Sendable (_ events: [Event]) -> Bool) async {
    let number = state.withLock { state in
      state.lastNumber += 1
      return state.lastNumber
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let events: [Event] = state.withLock { state in
          state.waiters.append(Waiter(number: number, condition: condition, continuation: continuation))
          return state.events
        }
        // A later cancel finds the waiter.
        if Task.isCancelled || condition(events) { resume(number) }
      }
    } onCancel: {
      resume(number)
    }
    // As in Gate: the lock tells ThreadSanitizer that the event was recorded before.
    state.withLock { _ in }
  }

  /// Suspends the task until `event` was recorded, or until the task is cancelled.
  public func wait(for event: Event) async {
    await wait { $0.contains(event) }
  }

  /// Suspends the task until at least `count` events were recorded, or until the task is cancelled.
  public func wait(forCount count: Int) async {
    await wait { $0.count >= count }
  }

  /// Resumes a waiter, unless another event or a cancel has.
  private func resume(_ number: Int) {
    let waiter = state.withLock { state in
      state.waiters.firstIndex { $0.number == number }.map { state.waiters.remove(at: $0) }
    }
    waiter?.continuation.resume()
  }
}
