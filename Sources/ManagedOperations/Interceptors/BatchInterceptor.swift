import CompositeOperations

/// Holds tasks until there are enough of them, the first has waited long enough, or somebody flushes.
///
/// ```swift
/// let uploads = BatchInterceptor(for: Upload.self, maxCount: 20, maxAge: .seconds(5))
/// let manager = OperationManager(interceptors: [uploads])
/// …
/// uploads.flush()
/// ```
///
/// The task that makes the batch full is the last that executes of it; if another interceptor holds that one, a
/// ``RateLimitInterceptor`` for example, the batch waits for it. A task that is cancelled leaves the batch. Tasks that are
/// requeued are not held again, unless the reactor has them intercepted. It may serve several managers, with a batch in each.
public final class BatchInterceptor: BatchKeeping {
  private struct Batch {
    let batch: TaskBatch
    /// Which filling of the batch the timer is for.
    var generation = 0
    var timer: Timekeeper.Timer?
  }

  private let maxCount: Int
  private let maxAge: Duration?
  private let timekeeper: Timekeeper
  private let isFor: @Sendable (any ManagedTask) -> Bool
  private let batches = LockBox<[TaskBatch.Key: Batch]>([:])

  /// Makes an interceptor that has not held anything.
  ///
  /// - Parameters:
  ///   - maxCount: how many tasks make a batch; the last of them is not held. Traps if it is less than 1.
  ///   - maxAge: how long the first of a batch is held at most; nil for any time. Traps if it is negative.
  ///   - clock: the clock for that.
  ///   - isFor: which tasks are held; others execute, and release nothing. By default all are.
  public init(
    maxCount: Int = .max, maxAge: Duration? = nil, clock: some Clock<Duration> = ContinuousClock(),
    where isFor: @escaping @Sendable (_ task: any ManagedTask) -> Bool = { _ in true }
  ) {
    require(
      maxCount >= 1,
      "BatchInterceptor was given a maxCount of \(maxCount), which no batch can have. Use 1, which holds nothing, or more."
    )
    require(
      maxAge.map { $0 >= .zero } ?? true,
      "BatchInterceptor was given a maxAge of \(maxAge!), which is in the past. Use zero or more, or nil for no limit.")
    self.maxCount = maxCount
    self.maxAge = maxAge
    self.isFor = isFor
    timekeeper = Timekeeper.of(clock)
  }

  /// Makes an interceptor for one type of task.
  ///
  /// - Parameters:
  ///   - type: the type of the tasks that are held; others execute, and release nothing.
  ///   - maxCount: how many tasks make a batch. See the other initializer.
  ///   - maxAge: how long the first of a batch is held at most; nil for any time.
  ///   - clock: the clock for that.
  public convenience init<T: ManagedTask>(
    for type: T.Type, maxCount: Int = .max, maxAge: Duration? = nil, clock: some Clock<Duration> = ContinuousClock()
  ) {
    self.init(maxCount: maxCount, maxAge: maxAge, clock: clock) { $0 is T }
  }

  /// Has everything execute that is held, in all managers.
  ///
  /// - Returns: how many tasks that were.
  @discardableResult
  public func flush() -> Int {
    let held = batches.withLock { $0.values.map(\.batch) }
    return held.reduce(0) { $0 + $1.release() }
  }

  /// How many tasks are held, in all managers.
  public var count: Int {
    let held = batches.withLock { $0.values.map(\.batch) }
    return held.reduce(0) { $0 + $1.count }
  }

  // MARK: - As an interceptor

  /// Keeps the batch.
  public func didAttach(to batch: TaskBatch) {
    guard let key = batch.key else { return }
    // Also of managers that are gone: released outside of the lock.
    let previous = batches.withLock { batches in
      defer { batches = batches.filter { $0.value.batch.key != nil }.merging([key: Batch(batch: batch)]) { $1 } }
      return batches
    }
    withExtendedLifetime(previous) {}
  }

  /// Holds the task, unless it makes the batch full, or is not one of those that are held.
  public func intercept<T: ManagedTask>(_ task: inout T, batchCount: Int) async throws -> InterceptCommand {
    answer(about: &task, batchCount: batchCount)?.command ?? .execute
  }

  func answer<T: ManagedTask>(about task: inout T, batchCount: Int) -> KeeperAnswer? {
    guard isFor(task) else { return nil }
    return KeeperAnswer(command: batchCount + 1 >= maxCount ? .execute : .hold)
  }

  func didHold(identifier: Int, note: String?, in batch: TaskBatch) {
    guard let maxAge, let key = batch.key, let generation = batch.generation(of: identifier) else { return }
    let isFirst = batches.withLock { batches in
      guard let known = batches[key]?.generation, known < generation else { return false }
      batches[key]?.generation = generation
      return true
    }
    guard isFirst else { return }
    let timer = timekeeper.after(maxAge) { batch.release(generation: generation) }
    let unneeded = batches.withLock { batches -> Timekeeper.Timer? in
      guard batches[key]?.generation == generation else { return timer }
      defer { batches[key]?.timer = timer }
      return batches[key]?.timer
    }
    if let unneeded { timekeeper.cancel(unneeded) }
  }
}
