import Foundation

/// Releases nested results iteratively.
///
/// A sequence keeps the values of its children, not the children. The results of deeply nested
/// sequences own each other, and the standard library would release them recursively.
enum NestedResults {
  /// - Parameter results: the results; empty afterwards, so that this takes the last reference.
  static func release(_ results: inout [any Sendable]) {
    var pending = takeNested(from: &results)
    results = []
    while !pending.isEmpty {
      var last = pending.removeLast()
      pending += takeNested(from: &last)
    }
  }

  /// Releases the results among the outcomes of children.
  static func release(_ outcomes: inout [Outcome<any Sendable>]) {
    var nested: [any Sendable] = []
    for case .success(let value) in outcomes where type(of: value) == [any Sendable].self { nested.append(value) }
    outcomes = []
    if !nested.isEmpty { release(&nested) }
  }

  /// Moves nested results out of an array, unless the array is shared.
  private static func takeNested(from results: inout [any Sendable]) -> [[any Sendable]] {
    guard results.isUnique else { return [] }
    var nested: [[any Sendable]] = []
    for index in results.indices where type(of: results[index]) == [any Sendable].self {
      nested.append(results[index] as! [any Sendable])
      results[index] = ()
    }
    return nested
  }
}

extension Array {
  /// Whether the storage is uniquely referenced. If not, the array is a copy afterwards.
  fileprivate var isUnique: Bool {
    mutating get {
      let before = withUnsafeBufferPointer { $0.baseAddress }
      let after = withUnsafeMutableBufferPointer { UnsafePointer($0.baseAddress) }
      return before == after
    }
  }
}
