import CompositeOperations

/// Holds tasks until there are enough of them, the first has waited long enough, or you flush it.
///
/// ```swift
/// let uploads: BatchInterceptor = .batch(maxCount: 20, maxAge: .seconds(5)) { $0 is Upload }
/// let manager = OperationManager(interceptors: [uploads])
/// …
/// uploads.flush()
/// ```
///
/// The task that fills the batch executes as its last one; if another interceptor holds that task,
/// a `.rateLimit` for example, the batch waits for it. A cancelled task leaves the batch. A
/// requeued task is not held again, unless the reactor has it intercepted. One interceptor may
/// serve several managers, with a batch in each.
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

  fileprivate init(
    maxCount: Int, maxAge: Duration?, clock: some Clock<Duration>, isFor: @escaping @Sendable (any ManagedTask) -> Bool
  ) {
    require(maxCount >= 1, ".batch was given a maxCount of \(maxCount). Use 1, which holds nothing, or more.")
    require(
      maxAge.map { $0 >= .zero } ?? true,
      ".batch was given a maxAge of \(maxAge!), which is in the past. Use zero or more, or nil for no limit.")
    self.maxCount = maxCount
    self.maxAge = maxAge
    self.isFor = isFor
    timekeeper = Timekeeper.of(clock)
  }

  /// Lets all held tasks execute, in all managers.
  ///
  /// - Returns: how many tasks there were.
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

  /// True: it changes no task.
  public var onlyHolds: Bool { true }

  /// Keeps the batch.
  public func didAttach(to batch: TaskBatch) {
    let held = batches.withLock { batches in
      batches[batch] = Batch()
      return Array(batches.keys)
    }
    // Those of managers that are gone go, too. Outside of the lock: a manager that is looked at may
    // be released in this moment, and then goes here, with what its tasks and interceptors hold.
    let gone = held.filter { !$0.isAttached }
    guard !gone.isEmpty else { return }
    batches.withLock { batches in
      for batch in gone { batches[batch] = nil }
    }
  }

  /// Holds the task, unless it fills the batch. Tasks that the batch is not for pass.
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

extension Interceptor where Self == BatchInterceptor {
  /// Holds tasks until there are enough of them, or the first has waited long enough. See
  /// ``BatchInterceptor``; keep it to flush it.
  ///
  /// - Parameters:
  ///   - maxCount: how many tasks make a batch; the last of them is not held. Traps if it is less
  ///     than 1.
  ///   - maxAge: how long the first task of a batch is held at most; nil for any time. Traps if it
  ///     is negative.
  ///   - clock: the clock for that.
  ///   - isFor: which tasks are held; by default all. The others pass, and release nothing.
  public static func batch(
    maxCount: Int = .max, maxAge: Duration? = nil, clock: some Clock<Duration> = ContinuousClock(),
    where isFor: @escaping @Sendable (_ task: any ManagedTask) -> Bool = { _ in true }
  ) -> Self {
    BatchInterceptor(maxCount: maxCount, maxAge: maxAge, clock: clock, isFor: isFor)
  }
}
