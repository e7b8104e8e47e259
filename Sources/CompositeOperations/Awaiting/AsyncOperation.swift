import Foundation

/// An operation whose work is an `async` closure, run in a task of its own.
///
/// Cancelling the operation cancels the task; what the closure returns after that is discarded. A `CancellationError`
/// that it throws settles the operation as cancelled. The task keeps the operation alive until the closure returns.
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

  /// Makes an operation from an async closure.
  ///
  /// Traps if `Value` is an `Operation`, or an optional or an array of them: they would never run.
  /// Use `then` to run an operation made by another.
  ///
  /// - Parameters:
  ///   - name: the operation's name.
  ///   - priority: the task's priority; nil means the one that belongs to the quality of service: the
  ///     operation's own if it was set, else that of the queue that runs it. In a composite, the composite's counts if it
  ///     is higher than the operation's own, or that was not set.
  ///   - work: the work. Called once, in a detached task, on the cooperative pool.
  public init(
    name: String? = nil, priority: TaskPriority? = nil, _ work: @escaping @Sendable () async throws -> Value
  ) {
    requireValue(Value.self, of: "AsyncOperation")
    self.priority = priority
    self.work = .plain(work)
    super.init(flags: .endsByItself)
    if let name { self.name = name }
  }

  /// Makes an operation from an async closure that tells how it gets on.
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
  ///   - priority: the task's priority; nil means the one that belongs to the quality of service: the
  ///     operation's own if it was set, else that of the queue that runs it. In a composite, the composite's counts if it
  ///     is higher than the operation's own, or that was not set.
  ///   - work: the work, which gets what it reports its progress to. Called once, in a detached task, on the cooperative
  ///     pool.
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
    let task = Task.detached(priority: priority ?? inheritedPriority) { [self] in
      do {
        let value =
          switch work {
          case .plain(let work): try await work()
          case .reporting(let work): try await work(ProgressReporter(for: self))
          }
        forgetTask()
        finish(with: value)
      } catch {
        forgetTask()
        reject(with: error)
      }
    }
    // Whoever is second sees the other: the cancel finds the task, or this finds the cancel.
    StripedLock.withLock(of: self) { if !state.current.isSettled { self.task = task } }
    if isCancelled { task.cancel() }
  }

  /// The priority that belongs to the quality of service here. A detached task has none by itself.
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

  /// The task is about to end. What it takes up goes with it, while the operation may be kept for its outcome.
  private func forgetTask() {
    StripedLock.withLock(of: self) { task = nil }
  }

  /// Cancels the task.
  public override func didCancel() {
    StripedLock.withLock(of: self) { task }?.cancel()
  }

  override func discardWork() {
    work = nil
  }
}
