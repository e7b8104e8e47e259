import Foundation

/// A child that lets a composition wait for something without a slot or a thread.
///
/// Subclasses begin to wait in `main`, finish when the wait is over, and stop in `didCancel`.
class GateOperation: SimpleOperation<Void>, @unchecked Sendable {  // see the subclasses
  override init() {
    super.init(flags: .needsNoSlot)
  }

  /// What the gate waits for, in words. Drawings show it.
  var purpose: String { "waits" }

  override final var name: String? {
    get { purpose }
    set { super.name = newValue }
  }

  override final class var typeDescription: String { "\(SimpleOperation<Void>.self)" }

  package override final var form: OperationKind? { .wait }

  /// Formats up to three names for a sentence.
  static func list(_ names: [String]) -> String {
    let shown = names.prefix(3).map { "“\($0)”" }.joined(separator: ", ")
    return names.count > 3 ? "\(shown) and \(names.count - 3) more" : shown
  }

  static func list(_ operations: [Operation]) -> String {
    list(
      operations.map { operation in
        if let name = operation.name, !name.isEmpty { return name }
        return (operation as? SettlingOperation).map { type(of: $0).typeDescription } ?? "\(type(of: operation))"
      })
  }
}

/// A gate that waits for a task.
class TaskGate: GateOperation, @unchecked Sendable {  // see the field, and the subclasses
  private let priority: TaskPriority?
  /// Guarded by the striped lock.
  private var task: Task<Void, Never>?

  init(priority: TaskPriority?) {
    self.priority = priority
    super.init()
  }

  /// Does the work in the task.
  func work() async throws {
    preconditionFailure("abstract")
  }

  override final func main() {
    let task = detachedTask(priority: priority) { [self] in
      do {
        try await work()
        forgetTask()
        finish()
      } catch {
        forgetTask()
        reject(with: error)
      }
    }
    // A concurrent cancel either finds the task here, or has set `isCancelled` before the check.
    StripedLock.withLock(of: self) { if !state.current.isSettled { self.task = task } }
    if isCancelled { task.cancel() }
  }

  /// Releases the task, which is about to end.
  private func forgetTask() {
    StripedLock.withLock(of: self) { task = nil }
  }

  override final func didCancel() {
    StripedLock.withLock(of: self) { task }?.cancel()
  }
}

/// A gate that waits for the dependencies of an operation.
final class DependencyGate: GateOperation, @unchecked Sendable {  // locked, or immutable
  private let operation: Operation
  /// Whether the tree of this gate starts the operation.
  private let isOurs: Bool
  private let turn: GuardTurn
  /// What the gate waits for; nil when the wait is over.
  private let waits = LockBox<(dependencies: DependencyWait, end: SettlementAction)?>(nil)

  /// - Parameters:
  ///   - operation: the operation with the dependencies. If other code starts it, the wait ends
  ///     when it has settled.
  ///   - isOurs: whether the tree of this gate starts it.
  ///   - turn: the turn of the guard of that operation.
  init(of operation: Operation, isOurs: Bool, _ turn: GuardTurn) {
    self.operation = operation
    self.isOurs = isOurs
    self.turn = turn
    super.init()
  }

  override var purpose: String { "waits for \(GateOperation.list(operation.dependencies))" }

  override func main() {
    let dependencies = DependencyWait(for: operation) { [self] in pass() }
    let end = SettlementAction { [weak self] in self?.pass() }
    waits.withLock { $0 = (dependencies, end) }
    turn.whenPointless { [weak self] in self?.pass() }
    if isOurs {
      (operation as? SettlingOperation)?.setWhenNothingIsAwaited { [weak self] in self?.pass() }
    } else if let operation = operation as? SettlingOperation {
      if !operation.observe(end) { pass() }
    } else {
      ForeignOperations.observe(operation, end)
    }
    dependencies.begin()
    if isCancelled || (operation as? SettlingOperation)?.awaitsNothingMore == true { pass() }
    // The wait may have ended before it was complete.
    if waits.withLock({ $0 == nil }) { stop(dependencies, end) }
  }

  override func didCancel() {
    pass()
  }

  private func pass() {
    if let (dependencies, end) = waits.withLock({ $0.take() }) { stop(dependencies, end) }
    finish()
  }

  private func stop(_ dependencies: DependencyWait, _ end: SettlementAction) {
    dependencies.cancel()
    if !isOurs, !(operation is SettlingOperation) { ForeignOperations.stopObserving(operation, end) }
  }
}

/// A gate that waits until an operation that other code started has settled.
final class SettlementGate: GateOperation, @unchecked Sendable {  // immutable
  /// Observes the operation in place of the gate. The operation keeps it until it settles, which
  /// may be never, but not a gate that was cancelled.
  private final class Link: SettlementObserver {
    /// The gate while it waits.
    let gate = LockBox<SettlementGate?>(nil)

    func operationDidSettle(_ operation: Operation, tag: Int) {
      gate.withLock { $0.take() }?.finish()
    }
  }

  let operation: Operation
  private let link = Link()

  init(of operation: Operation) {
    self.operation = operation
    super.init()
  }

  override var purpose: String { "waits for \(GateOperation.list([operation]))" }

  override func main() {
    link.gate.withLock { $0 = self }
    if let operation = operation as? SettlingOperation {
      if !operation.observe(link) { link.operationDidSettle(operation, tag: 0) }
    } else {
      ForeignOperations.observe(operation, link)
    }
    // It may have been cancelled before it observed.
    if isCancelled { stop() }
  }

  override func didCancel() {
    stop()
    finish()
  }

  private func stop() {
    let gate = link.gate.withLock { $0.take() }
    if !(operation is SettlingOperation) { ForeignOperations.stopObserving(operation, link) }
    // Released here, outside the lock.
    withExtendedLifetime(gate) {}
  }
}

/// Calls a closure when an operation has settled.
final class SettlementAction: SettlementObserver {
  private let action: @Sendable () -> Void

  init(_ action: @escaping @Sendable () -> Void) {
    self.action = action
  }

  func operationDidSettle(_ operation: Operation, tag: Int) {
    action()
  }
}
