import CompositeOperations
import Foundation
import Synchronization

/// One composition, as a recorder knows it. The scope outlives the composition.
final class RecorderScope: @unchecked Sendable {  // weak loads are atomic, and `composition` is set once in `init`
  let number: UInt32
  let kind: OperationKind
  /// Whether all children are added at once, in order, so that one instant and a count record it.
  let addsAllAtOnce: Bool
  let addedAt = Atomic<Int64>(0)
  let addedCount = Atomic(0)
  private(set) weak var composition: Composition?

  init(number: UInt32, composition: Composition, isLate: Bool) {
    self.number = number
    self.composition = composition
    kind = composition.kind
    addsAllAtOnce = composition.addsAllAtOnce && !isLate
  }
}

/// Records the children of one composition, and attaches the recorder to the compositions among
/// them.
final class ScopeMonitor: CompositionMonitor {
  let core: RecorderCore
  let scope: RecorderScope
  private let number: UInt32
  /// The operation, if no parent reports its start: the recorder was attached to it, or late.
  private let owner: RecorderCore.Owner?

  init(_ core: RecorderCore, _ scope: RecorderScope, of owner: RecorderCore.Owner?) {
    self.core = core
    self.scope = scope
    number = scope.number
    self.owner = owner
  }

  func compositionWillBegin(_ composition: Composition) {
    if let owner { core.record(.started, scope: owner.scope, tag: Int(owner.tag)) }
  }

  func composition(_ composition: Composition, didAdd child: Operation, tag: Int) {
    if scope.addsAllAtOnce {
      // By one thread, and before any child starts.
      if scope.addedCount.load(ordering: .relaxed) == 0 { scope.addedAt.store(core.now(), ordering: .relaxed) }
      scope.addedCount.store(tag + 1, ordering: .releasing)
    } else {
      core.record(.added, scope: number, tag: tag)
    }
  }

  func composition(_ composition: Composition, willStart child: Operation, tag: Int) {
    core.record(.started, scope: number, tag: tag)
    guard let child = child as? SettlingOperation, child.isComposition, let inner = child.composition else {
      return
    }
    // Another composition may have started it already.
    let isLate = child.hasBegun
    guard core.adopt(inner, in: number, tag: Int32(truncatingIfNeeded: tag), isLate: isLate) else { return }
    // Or just now, before it was observed. What is recorded twice counts from the first record.
    if isLate || child.hasBegun { core.catchUp(inner) }
  }

  func composition(_ composition: Composition, didSettle child: Operation, tag: Int) {
    core.recordSettled(child, scope: number, tag: tag, attempt: composition.attempt(of: tag))
  }
}

/// Records the end of an operation that a recorder was attached to.
final class RootObserver: SettlementObserver {
  private let core: RecorderCore

  init(_ core: RecorderCore) {
    self.core = core
  }

  func operationDidSettle(_ operation: Operation, tag: Int) {
    core.recordSettled(operation, scope: 0, tag: tag, attempt: 1)
  }
}
