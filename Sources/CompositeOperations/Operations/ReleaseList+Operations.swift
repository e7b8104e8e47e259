import Foundation

extension ReleaseList {
  /// Gives up operations, which the caller must not hold in any other way.
  static func release(operations: inout [Operation]) {
    // Most children are not compositions, and can go as they are.
    if operations.contains(where: { ($0 as? SettlingOperation)?.state.current.has(.needsNoSlot) == true }) {
      release(&operations)
    } else {
      operations = []
    }
  }
}
