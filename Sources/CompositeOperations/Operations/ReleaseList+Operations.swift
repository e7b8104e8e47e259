import Foundation

extension ReleaseList {
  /// Releases operations, to which the caller must hold no other reference.
  static func release(operations: inout [Operation]) {
    // Foundation keeps the dependencies of an operation as long as that. So a chain is released
    // from the end that depends on the others: usually the last.
    if let first = operations.first, first.has(.hasDependencies), operations.last?.has(.hasDependencies) == false {
      operations.reverse()
    }
    // Most children are not compositions, and can be released directly.
    if operations.contains(where: { $0.has(.needsNoSlot) }) {
      release(&operations)
    } else {
      while let last = operations.popLast() { withExtendedLifetime(last) {} }
    }
  }
}

extension Operation {
  @inline(__always)
  fileprivate func has(_ flag: OperationState.Flags) -> Bool { isOwn && asOwn.state.current.has(flag) }
}
