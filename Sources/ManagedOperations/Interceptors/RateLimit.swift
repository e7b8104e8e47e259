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
  /// another caller releases them. A task that another interceptor holds or discards, in front of
  /// this one or behind it, has cost its token if there was one. A task that an interceptor in
  /// front of this one holds as well waits there only. A requeued task needs a new token only if
  /// the reactor has it intercepted.
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
    AnyInterceptor(base: RateLimit(tokens: tokens, per: duration, clock: clock, key: key), name: ".rateLimit")
  }
}

private final class RateLimit: Interceptor {
  private struct Bucket {
    /// When it is full again. Each token taken puts that off.
    var fullAt: Timekeeper.Time
    var waiting: ArraySlice<HeldTask> = []
    /// Whether a timer is set, or tasks are being released because it was due.
    var hasTimer = false
  }

  private struct State {
    var buckets: [String: Bucket] = [:]
    var sweepsAt = 64

    /// Now and then forgets full buckets, which are as good as none.
    mutating func sweep(now: Timekeeper.Time) {
      guard buckets.count >= sweepsAt else { return }
      buckets = buckets.filter { !$0.value.waiting.isEmpty || $0.value.hasTimer || now < $0.value.fullAt }
      sweepsAt = max(64, 2 * buckets.count)
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
    return change(key) { $0.waiting.isEmpty && !$0.hasTimer && takeToken(from: &$0, now: $1) } ? .pass : .hold
  }

  /// Lets the task wait for a token of its key, as the interceptors have left it.
  func didHold<T: ManagedTask>(_ task: T, as held: HeldTask) {
    guard let key = key(task) else {
      // Changed by an interceptor behind this one.
      held.release()
      return
    }
    change(key) { bucket, _ in bucket.waiting.append(held) }
    setTimer(key)
  }

  /// Changes the bucket of a key. A new one is full.
  private func change<R>(_ key: String, _ body: (inout Bucket, _ now: Timekeeper.Time) -> R) -> R {
    let now = timekeeper.now
    return state.withLock { state in
      if state.buckets[key] == nil { state.sweep(now: now) }
      return body(&state.buckets[key, default: Bucket(fullAt: now)], now)
    }
  }

  private func takeToken(from bucket: inout Bucket, now: Timekeeper.Time) -> Bool {
    let start = max(bucket.fullAt, now)
    guard start <= now + burst else { return false }
    bucket.fullAt = start + interval
    return true
  }

  /// Sets a timer for the next token, if a task waits for one and no timer is set.
  private func setTimer(_ key: String) {
    let time: Timekeeper.Time? = change(key) { bucket, _ in
      guard !bucket.waiting.isEmpty, !bucket.hasTimer else { return nil }
      bucket.hasTimer = true
      return bucket.fullAt + (.zero - burst)
    }
    guard let time else { return }
    _ = timekeeper.at(time) { [weak self] in self?.tokenIsDue(key) }
  }

  private func tokenIsDue(_ key: String) {
    while let task = takeTokenForFirst(key) {
      // The task was cancelled or released meanwhile: the token is for the next one.
      if !task.release() { change(key) { bucket, _ in bucket.fullAt = bucket.fullAt + (.zero - interval) } }
    }
    // Not before: a task that came meanwhile would overtake one that has its token.
    change(key) { bucket, _ in bucket.hasTimer = false }
    setTimer(key)
  }

  private func takeTokenForFirst(_ key: String) -> HeldTask? {
    change(key) { bucket, now in
      !bucket.waiting.isEmpty && takeToken(from: &bucket, now: now) ? bucket.waiting.popFirst() : nil
    }
  }
}
