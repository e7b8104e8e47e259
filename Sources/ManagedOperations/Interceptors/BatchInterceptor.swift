import CompositeOperations

/// Holds tasks until there are enough of them, the first has waited long enough, or you flush it.
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
public final class BatchInterceptor: Interceptor {
  private struct Batch {
    /// Which filling of the batch the timer is for.
    var filling = 0
    var timer: Timekeeper.Timer?
  }

  private let maxCount: Int
  private let maxAge: Duration?
  private let timekeeper: Timekeeper
  private let isFor: @Sendable (any ManagedTask) -> Bool
  private let batches = LockBox<[TaskBatch: Batch]>([:])

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
    let held = batches.withLock { Array($0.keys) }
    return held.reduce(0) { $0 + $1.release() }
  }

  /// How many tasks are held, in all managers.
  public var count: Int {
    let held = batches.withLock { Array($0.keys) }
    return held.reduce(0) { $0 + $1.count }
  }

  // MARK: - As an interceptor

  /// True: it has nothing to say about a task that it has let execute.
  public var onlyHolds: Bool { true }

  /// Keeps the batch.
  public func didAttach(to batch: TaskBatch) {
    // Without those of managers that are gone.
    let previous = batches.withLock { batches in
      defer { batches = batches.filter(\.key.isAttached).merging([batch: Batch()]) { $1 } }
      return batches
    }
    withExtendedLifetime(previous) {}
  }

  /// Holds the task, unless it makes the batch full. It has no opinion about one that is not held anyway.
  public func intercept<T: ManagedTask>(_ task: inout T, batchCount: Int) async throws -> InterceptCommand {
    guard isFor(task) else { return .pass }
    return batchCount + 1 >= maxCount ? .execute : .hold
  }

  /// Sets the timer, if the task is the first of the batch.
  public func didHold<T: ManagedTask>(_ task: T, as held: HeldTask) {
    guard let maxAge, held.isHeld else { return }
    let isFirst = batches.withLock { batches in
      guard let known = batches[held.batch]?.filling, known < held.filling else { return false }
      batches[held.batch]?.filling = held.filling
      return true
    }
    guard isFirst else { return }
    let timer = timekeeper.after(maxAge) { held.releaseFilling() }
    let unneeded = batches.withLock { batches -> Timekeeper.Timer? in
      guard batches[held.batch]?.filling == held.filling else { return timer }
      defer { batches[held.batch]?.timer = timer }
      return batches[held.batch]?.timer
    }
    if let unneeded { timekeeper.cancel(unneeded) }
  }
}
