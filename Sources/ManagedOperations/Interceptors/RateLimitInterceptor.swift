import CompositeOperations

/// Lets so many tasks execute in a time, and holds the others until it is their turn: a token bucket for each key.
///
/// ```swift
/// // Ten at once, then one each 100 ms; for each host by itself.
/// RateLimitInterceptor(tokens: 10, per: .seconds(1)) { ($0 as? HTTPTask)?.request.url?.host }
/// ```
///
/// A bucket is full at first, and fills evenly. Tasks of a key execute in the order in which they came; while they wait, tasks of
/// other keys overtake them, and they are held: they count in the manager's `heldTaskCount`, can be cancelled, which costs no
/// token, and go at once if others release them. A task that an interceptor behind this one holds or discards has cost
/// its token. One that an interceptor in front of this one holds as well waits there only. Tasks that are requeued need a new one only if the reactor has them intercepted.
///
/// It may serve several managers, which then share the buckets.
public final class RateLimitInterceptor: Interceptor {
  private struct Bucket {
    /// When it is full again. Each token that is taken puts that off.
    var fullAt: Timekeeper.Time
    var waiting: ArraySlice<HeldTask> = []
    var hasTimer = false

    /// - Parameter burst: how long it takes to fill it but for one token.
    mutating func takeToken(now: Timekeeper.Time, interval: Duration, burst: Duration) -> Bool {
      let start = max(fullAt, now)
      guard start <= now + burst else { return false }
      fullAt = start + interval
      return true
    }
  }

  private struct State {
    var buckets: [String: Bucket] = [:]
    var sweepsAt = 64

    mutating func makeBucket(_ key: String, now: Timekeeper.Time) {
      guard buckets[key] == nil else { return }
      if buckets.count >= sweepsAt {
        // Those that are full are as good as none.
        buckets = buckets.filter { !$0.value.waiting.isEmpty || $0.value.hasTimer || now < $0.value.fullAt }
        sweepsAt = max(64, 2 * buckets.count)
      }
      buckets[key] = Bucket(fullAt: now)
    }
  }

  /// How long one token takes to come.
  private let interval: Duration
  /// How long all tokens but one take.
  private let burst: Duration
  private let timekeeper: Timekeeper
  private let key: @Sendable (any ManagedTask) -> String?
  private let state = LockBox(State())

  /// Makes an interceptor whose buckets are full.
  ///
  /// - Parameters:
  ///   - tokens: how many tasks may execute in `duration`, which may be all at once. Traps if it is less than 1.
  ///   - duration: how long it takes to fill an empty bucket. Traps if it is not positive.
  ///   - clock: the clock for that.
  ///   - key: which bucket a task takes its token from; nil for none, so that it is not limited. By default all take from one.
  public init(
    tokens: Int, per duration: Duration, clock: some Clock<Duration> = ContinuousClock(),
    key: @escaping @Sendable (_ task: any ManagedTask) -> String? = { _ in "" }
  ) {
    require(
      tokens >= 1, "RateLimitInterceptor was given \(tokens) tokens, so nothing could ever execute. Use at least 1.")
    require(
      duration > .zero,
      "RateLimitInterceptor was given \(tokens) tokens per \(duration). Use a positive duration.")
    interval = duration / tokens
    burst = interval * (tokens - 1)
    timekeeper = Timekeeper.of(clock)
    self.key = key
  }

  /// True: it has nothing to say about a task that it has let execute.
  public var onlyHolds: Bool { true }

  /// Takes a token for the task if there is one, and then has no opinion; else it holds the task.
  public func intercept<T: ManagedTask>(_ task: inout T, batchCount: Int) async throws -> InterceptCommand {
    guard let key = key(task) else { return .pass }
    return takeToken(key) ? .pass : .hold
  }

  private func takeToken(_ key: String) -> Bool {
    let now = timekeeper.now
    return state.withLock { state in
      state.makeBucket(key, now: now)
      guard state.buckets[key]?.waiting.isEmpty == true else { return false }
      return state.buckets[key]?.takeToken(now: now, interval: interval, burst: burst) ?? false
    }
  }

  /// Has the task wait for its token: that of its key as the interceptors have left it.
  public func didHold<T: ManagedTask>(_ task: T, as held: HeldTask) {
    guard let key = key(task) else {
      // Changed by an interceptor behind this one.
      held.release()
      return
    }
    let now = timekeeper.now
    state.withLock { state in
      state.makeBucket(key, now: now)
      state.buckets[key]?.waiting.append(held)
    }
    setTimer(key)
  }

  /// Sets a timer for when there is the next token, if one is waited for and none is set.
  private func setTimer(_ key: String) {
    let time = state.withLock { state -> Timekeeper.Time? in
      guard let bucket = state.buckets[key], !bucket.waiting.isEmpty, !bucket.hasTimer else { return nil }
      state.buckets[key]?.hasTimer = true
      return bucket.fullAt + (.zero - burst)
    }
    guard let time else { return }
    _ = timekeeper.at(time) { [weak self] in self?.tokenIsDue(key) }
  }

  private func tokenIsDue(_ key: String) {
    state.withLock { $0.buckets[key]?.hasTimer = false }
    while let waiter = takeTokenForFirst(key) {
      // Cancelled, or released by others: the token is for the next one.
      if !waiter.release() { returnToken(key) }
    }
    setTimer(key)
  }

  private func takeTokenForFirst(_ key: String) -> HeldTask? {
    let now = timekeeper.now
    return state.withLock { state in
      guard
        state.buckets[key]?.waiting.isEmpty == false,
        state.buckets[key]?.takeToken(now: now, interval: interval, burst: burst) == true
      else { return nil }
      return state.buckets[key]?.waiting.popFirst()
    }
  }

  private func returnToken(_ key: String) {
    state.withLock { state in
      guard let fullAt = state.buckets[key]?.fullAt else { return }
      state.buckets[key]?.fullAt = fullAt + (.zero - interval)
    }
  }
}
