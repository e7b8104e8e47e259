import Foundation

extension ReleaseList {
  /// Releases operations, to which the caller must hold no other reference.
  static func release(operations: inout [Operation]) {
    // Most children are not compositions, and can be released directly.
    if operations.contains(where: { $0.isOwn && $0.asOwn.state.current.has(.needsNoSlot) }) {
      release(&operations)
    } else {
      // The last first: Foundation keeps the dependencies of an operation as long as that, and
      // children depend on those before them rather than on those after.
      while let last = operations.popLast() { withExtendedLifetime(last) {} }
    }
  }
}
