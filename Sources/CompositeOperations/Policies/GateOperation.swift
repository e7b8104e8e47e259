import Foundation

/// Something that a composition waits for, as a child: it takes no slot, and no thread.
///
/// Subclasses begin to wait in `main`, finish when they need wait no more, and stop in `didCancel`.
class GateOperation: SimpleOperation<Void>, @unchecked Sendable {  // locked, or immutable; see the subclasses
  private enum Wait {
    case new, over
    /// The pool knows of it that may lend the slot of its root.
    case begun(QueuePool?)
  }

  private let environment: ExecutionEnvironment?
  private let wait = LockBox(Wait.new)

  /// - Parameter environment: of the composition, if what it waits for may be held by operations that need a slot to go on.
  init(in environment: ExecutionEnvironment? = nil) {
    self.environment = environment
    super.init(flags: .composes)
  }

  /// What it waits for, in words. Asked for when something is drawn.
  var purpose: String { "waits" }

  override final var name: String? {
    get { purpose }
    set { super.name = newValue }
  }

  override final class var typeDescription: String { "\(SimpleOperation<Void>.self)" }

  override final var form: Timeline.Kind? { .wait }

  /// Names as they stand in a sentence, and not too many.
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

  /// It begins to wait. If the root of its tree has a slot of a queue, other trees may use that meanwhile: one of them may
  /// hold what this one waits for, and wait for a slot itself.
  final func beginWait() {
    let pool = environment?.waitBegins()
    let isOver = wait.withLock { wait in
      guard case .new = wait else { return true }
      wait = .begun(pool)
      return false
    }
    if isOver { pool?.waitEnds {} }
  }

  /// It need not wait any more. Only the first call counts.
  ///
  /// - Parameter settle: settles it. Called now; or, if its root has lent its slot, when it has that back.
  final func endWait(_ settle: @escaping @Sendable () -> Void) {
    let last = wait.withLock { wait in
      defer { wait = .over }
      return wait
    }
    switch last {
    case .new, .begun(nil): settle()
    case .begun(let pool?): pool.waitEnds(settle)
    case .over: break
    }
  }

  /// Has the gate pass when `operation`, which is this composition's to start, is cancelled or settled by others.
  final func pass(whenDecided operation: Operation, _ pass: @escaping @Sendable () -> Void) {
    (operation as? SettlingOperation)?.setWhenDecidedUnstarted(pass)
  }
}

/// Waits for the dependencies of an operation.
final class DependencyGate: GateOperation, @unchecked Sendable {  // locked, or immutable
  private let operation: Operation
  private let guarded: Operation
  private let unmet = LockBox<DependencyWait?>(nil)

  /// - Parameters:
  ///   - operation: the one with the dependencies.
  ///   - guarded: if that is cancelled, nothing has to be waited for any more.
  ///   - environment: of the composition.
  init(of operation: Operation, for guarded: Operation, in environment: ExecutionEnvironment) {
    self.operation = operation
    self.guarded = guarded
    super.init(in: environment)
  }

  override var purpose: String { "waits for \(GateOperation.list(operation.dependencies))" }

  override func main() {
    let wait = DependencyWait(for: operation) { [self] in pass() }
    unmet.withLock { $0 = wait }
    pass(whenDecided: guarded) { [weak self] in self?.pass() }
    beginWait()
    if isCancelled { didCancel() } else { wait.begin() }
  }

  override func didCancel() {
    pass()
  }

  private func pass() {
    unmet.withLock { $0.take() }?.cancel()
    endWait { [self] in finish() }
  }
}

/// Waits until an operation that is somebody else's has settled.
final class SettlementGate: GateOperation, SettlementObserver, @unchecked Sendable {  // immutable
  let operation: Operation

  init(of operation: Operation) {
    self.operation = operation
    super.init()
  }

  override var purpose: String { "waits for \(GateOperation.list([operation]))" }

  override func main() {
    if let operation = operation as? SettlingOperation {
      if !operation.observe(self) { finish() }
    } else {
      ForeignOperations.observe(operation, self)
    }
  }

  override func didCancel() {
    if !(operation is SettlingOperation) { ForeignOperations.stopObserving(operation, self) }
    finish()
  }

  func operationDidSettle(_ operation: Operation, tag: Int) {
    finish()
  }
}
