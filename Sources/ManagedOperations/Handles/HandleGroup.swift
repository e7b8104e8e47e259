public import CompositeOperations
import Foundation

/// Several tasks that were added together: an operation whose value is the outcome of each, in the
/// order of the tasks.
///
/// ```swift
/// let group = manager.add(contentsOf: cities.map(Search.init))
/// for await (index, outcome) in group.outcomesAsTheyCome { show(outcome, at: index) }
/// let found = try await group.value.compactMap(\.value)
/// ```
///
/// It succeeds when all tasks have settled, with whatever outcomes. Cancelling it cancels all
/// tasks, and it settles as cancelled when they have settled. Without tasks it succeeds when it is
/// started. A task whose handle has dependencies starts when these have finished. Like a handle the
/// group takes no slot in a composite, and does not belong in the queue in which its manager
/// executes attempts. `start()` and `cancel()` may be called any number of times. If you settle it
/// yourself while it executes, it cancels all tasks.
public final class HandleGroup<Value: Sendable>:
  SimpleOperation<[Outcome<Value>]>, @unchecked Sendable  // constants
{
  /// The handles, in the order of the tasks. Each can be watched and cancelled by itself.
  public let handles: [OperationHandle<Value>]
  private let inOrder: Bool
  private let owner: any HandleOwner
  /// Starts the handles that have not started, waits for all, and gathers their outcomes. It is
  /// never cancelled, since it would not wait for handles that others have started.
  private let composite: SimpleOperation<[Outcome<Value>]>
  private let streams: OutcomeStreams<Value>

  init(_ handles: [OperationHandle<Value>], inOrder: Bool, owner: any HandleOwner) {
    self.handles = handles
    self.inOrder = inOrder
    self.owner = owner
    // Not `allSettled` with a limit, which would start handles by their priorities.
    composite = inOrder ? forEach(handles, maxConcurrent: 1) { $0.settled() } : allSettled(handles)
    streams = OutcomeStreams(of: handles)
    super.init()
    occupyNoSlot()
  }

  deinit { streams.end() }

  /// The outcome of each task as it settles, with the index of the task.
  ///
  /// Each use makes a stream of its own, which keeps all outcomes until they are read. It begins
  /// with those of settled tasks, in the order in which they settled. It ends after the last one,
  /// or when a group that was not started is released.
  public var outcomesAsTheyCome: AsyncStream<(index: Int, outcome: Outcome<Value>)> { streams.makeStream() }

  /// Starts the tasks: all of them, or the first.
  public override func main() {
    let isSettled = !observe(self, tag: Role.settled.rawValue)
    // Between two of its tasks, and until its completion has run, the manager is not idle.
    owner.groupStarted(inOrder ? handles.map(\.id) : [])
    // Here rather than by the composite, so that the tasks come before those that are added next.
    // Those that have to wait for their dependencies are left to the composite.
    for handle in inOrder ? handles.prefix(1) : handles[...] where handle.dependencies.allSatisfy(\.isFinished) {
      handle.start()
    }
    awaitTasks(as: .started)
    if isSettled { _ = cancelTasks() }
  }

  /// Cancels all tasks.
  public override func cancel() {
    super.cancel()
    if !cancelTasks(), !isExecuting { awaitTasks(as: .cancelledBefore) }
  }

  /// Cancels all tasks, and settles the group if they have settled then. Returns whether they have.
  private func cancelTasks() -> Bool {
    // The last one first, so that none starts because the one before it has settled.
    for handle in handles.reversed() { handle.cancel() }
    guard handles.allSatisfy(\.isFinished) else { return false }
    settle(with: .cancelled)
    return true
  }
}

extension HandleGroup: UnwindingLater {
  /// It was started after it had been cancelled, perhaps while another thread is in `cancel()`.
  package func unwindLater() {
    if !cancelTasks() { awaitTasks(as: .cancelledBefore) }
  }
}

extension HandleGroup: SettlementObserver {
  private enum Role: Int {
    case started, cancelledBefore
    /// The group has settled.
    case settled
  }

  /// The composite keeps the group alive from now on, until all tasks have settled.
  private func awaitTasks(as role: Role) {
    if !composite.observe(self, tag: role.rawValue) { operationDidSettle(composite, tag: role.rawValue) }
    composite.start()
  }

  /// All tasks have settled, or the group has.
  package func operationDidSettle(_ operation: Operation, tag: Int) {
    if tag == Role.settled.rawValue {
      if composite.outcome == nil { _ = cancelTasks() }
      return
    }
    guard operation !== self else { return owner.groupEnded() }
    settle(with: composite.outcome ?? .cancelled)
    // After its observers, which another thread may be calling.
    if tag == Role.started.rawValue, !observe(self) { owner.groupEnded() }
  }
}

extension HandleGroup: ReportedByOwner {
  package func resumeWhenReported(_ continuation: UnsafeContinuation<Void, Never>) {
    owner.resumeWhenReported(continuation)
  }
}
