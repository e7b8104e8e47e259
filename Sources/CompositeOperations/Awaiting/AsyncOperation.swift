import Foundation

/// An operation that runs an `async` closure in a task of its own.
///
/// Cancelling the operation cancels the task; a value that the closure returns after that is
/// discarded. A `CancellationError` that it throws settles the operation as cancelled. If your code
/// settles the operation, with `finish(with:)` for example, the task is cancelled, too. The task
/// keeps the operation alive until the closure returns.
public final class AsyncOperation<Value: Sendable>: SimpleOperation<Value>, @unchecked Sendable {  // see the fields
  private enum Work {
    case plain(@Sendable () async throws -> Value)
    case reporting(@Sendable (ProgressReporter) async throws -> Value)
  }

  private let priority: TaskPriority?
  // Touched by the one caller that starts the operation, or settles it unstarted.
  @exclusivity(unchecked) private var work: Work?
  // Guarded by the striped lock.
  @exclusivity(unchecked) private var task: Task<Void, Never>?
  /// Whether the operation was cancelled or other code has settled it. Guarded by the same lock.
  @exclusivity(unchecked) private var isStopped = false
  /// Whether the closure has returned. Guarded by the same lock.
  @exclusivity(unchecked) private var hasReturned = false

  deinit {
    if work != nil { ReleaseList.release(&work) }
  }

  /// Makes an operation from an async closure.
  ///
  /// Traps if `Value` is an `Operation`, or an optional or an array of them: they would never run.
  /// Use `then` to run an operation made by another.
  ///
  /// - Parameters:
  ///   - name: the operation's name.
  ///   - priority: the task's priority; nil derives it from the quality of service: the operation's
  ///     own if it was set, else that of the queue that runs it. In a composite, the higher of the
  ///     composite's and the operation's own.
  ///   - work: the work. Called once, in a detached task, on the cooperative pool. It sees the
  ///     task-local values that ``OperationContext`` carries, and no others.
  public init(
    name: String? = nil, priority: TaskPriority? = nil, _ work: @escaping @Sendable () async throws -> Value
  ) {
    requireValue(Value.self, of: "AsyncOperation")
    self.priority = priority
    self.work = .plain(work)
    super.init(flags: .endsByItself)
    if let name { self.name = name }
  }

  /// Makes an operation from an async closure that reports its progress.
  ///
  /// ```swift
  /// let copy = AsyncOperation { progress in
  ///   for (index, file) in files.enumerated() {
  ///     try await copy(file)
  ///     progress.report(completed: index + 1, of: files.count)
  ///   }
  /// }
  /// ```
  ///
  /// Traps if `Value` is an `Operation`, or an optional or an array of them: they would never run.
  /// Use `then` to run an operation made by another.
  ///
  /// - Parameters:
  ///   - name: the operation's name.
  ///   - priority: the task's priority; nil derives it from the quality of service: the operation's
  ///     own if it was set, else that of the queue that runs it. In a composite, the higher of the
  ///     composite's and the operation's own.
  ///   - work: the work; receives the reporter of its progress. Called once, in a detached task, on
  ///     the cooperative pool.
  public init(
    name: String? = nil, priority: TaskPriority? = nil,
    reporting work: @escaping @Sendable (_ progress: ProgressReporter) async throws -> Value
  ) {
    requireValue(Value.self, of: "AsyncOperation")
    self.priority = priority
    self.work = .reporting(work)
    super.init(flags: .endsByItself)
    if let name { self.name = name }
  }

  /// Starts the task.
  public override func main() {
    guard let work else { return }
    self.work = nil
    let task = detachedTask(priority: priority ?? inheritedPriority) { [self] in
      do {
        let value =
          switch work {
          case .plain(let work): try await work()
          case .reporting(let work): try await work(ProgressReporter(for: self))
          }
        forgetTask()
        settle(value: value)
      } catch is CancellationError {
        forgetTask()
        settle(as: .cancelled)
      } catch {
        forgetTask()
        settle(as: .failure, error: error)
      }
    }
    let isStopped = StripedLock.withLock(of: self) {
      // Also if the operation has settled: the closure itself may have settled it.
      if !hasReturned { self.task = task }
      return self.isStopped
    }
    if isStopped { task.cancel() }
  }

  /// The priority derived from the quality of service. A detached task inherits none.
  private var inheritedPriority: TaskPriority? {
    let state = state.current
    let own = state.has(.hasQualityOfService) ? qualityOfService : nil
    if let outer = ThreadContext.current.qualityOfService {
      return TaskPriority(own.map { $0.higher(of: outer) } ?? outer)
    }
    if let own { return TaskPriority(own) }
    if state.has(.readinessWasRead), let queue = QualityOfService.ofExecutingQueue { return TaskPriority(queue) }
    return TaskPriority.ofCurrentThread
  }

  /// Releases the task, which is about to end: the operation may live on for its outcome.
  private func forgetTask() {
    StripedLock.withLock(of: self) { (task, hasReturned) = (nil, true) }
  }

  /// Cancels the task.
  public override func didCancel() {
    stop()
  }

  override func wasSettledByHand() {
    stop()
  }

  private func stop() {
    let task = StripedLock.withLock(of: self) {
      isStopped = true
      return self.task.take()
    }
    task?.cancel()
  }

  override func discardWork() {
    work = nil
  }
}
