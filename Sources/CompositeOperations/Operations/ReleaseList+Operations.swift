import Foundation

extension ReleaseList {
  /// Releases operations, to which the caller must hold no other reference.
  static func release(operations: inout [Operation]) {
    // Most children are not compositions, and can be released directly.
    if operations.contains(where: { ($0 as? SettlingOperation)?.state.current.has(.needsNoSlot) == true }) {
      release(&operations)
    } else {
      operations = []
    }
  }
}
