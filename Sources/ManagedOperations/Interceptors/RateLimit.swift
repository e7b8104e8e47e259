import CompositeOperations

extension Interceptor where Self == AnyInterceptor {
  /// Lets so many tasks execute in a time, and holds the others until it is their turn: a token
  /// bucket for each key.
  ///
  /// ```swift
  /// // Ten at once, then one each 100 ms; for each host by itself.
  /// .rateLimit(tokens: 10, per: .seconds(1)) { ($0 as? HTTPTask)?.request.url?.host }
  /// ```
  ///
  /// A bucket is full at first, and fills evenly. Tasks of a key execute in the order in which they
  /// came; tasks of other keys overtake them while they wait. Waiting tasks are held: they count in
  /// the manager's `heldTaskCount`, cost no token when they are cancelled, and execute at once when
  /// another caller releases them. A task that an interceptor behind this one holds or discards has
  /// cost its token. A task that an interceptor in front of this one holds as well waits there
  /// only. A requeued task needs a new token only if the reactor has it intercepted.
  ///
  /// Managers that share the interceptor share the buckets.
  ///
  /// - Parameters:
  ///   - tokens: how many tasks may execute in `duration`, which may be all at once. Traps if it is
  ///     less than 1.
  ///   - duration: how long it takes to fill an empty bucket. Traps if it is not positive.
  ///   - clock: the clock for that.
  ///   - key: which bucket a task takes its token from; nil for none, so that it is not limited. By
  ///     default all take from one.
  public static func rateLimit(
    tokens: Int, per duration: Duration, clock: some Clock<Duration> = ContinuousClock(),
    key: @escaping @Sendable (_ task: any ManagedTask) -> String? = { _ in "" }
  ) -> Self {
    AnyInterceptor(RateLimit(tokens: tokens, per: duration, clock: clock, key: key), name: ".rateLimit")
  }
}

private final class RateLimit: Interceptor {
  private struct Bucket {
    /// When it is full again. Each token taken puts that off.
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
        // A full bucket is as good as none.
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

  init(
    tokens: Int, per duration: Duration, clock: some Clock<Duration>,
    key: @escaping @Sendable (any ManagedTask) -> String?
  ) {
    require(tokens >= 1, ".rateLimit was given \(tokens) tokens, so nothing could ever execute. Use at least 1.")
    require(
      duration > .zero, ".rateLimit was given \(tokens) tokens per \(duration). Use a positive duration.")
    interval = duration / tokens
    burst = interval * (tokens - 1)
    timekeeper = Timekeeper.of(clock)
    self.key = key
  }

  var onlyHolds: Bool { true }

  /// Takes a token for the task and lets it pass, or holds it if there is no token.
  func intercept<T: ManagedTask>(_ task: inout T, batchCount: Int) async throws -> InterceptCommand {
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

  /// Lets the task wait for a token of its key, as the interceptors have left it.
  func didHold<T: ManagedTask>(_ task: T, as held: HeldTask) {
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

  /// Sets a timer for the next token, if a task waits for one and no timer is set.
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
      // The task was cancelled or released meanwhile: the token is for the next one.
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
