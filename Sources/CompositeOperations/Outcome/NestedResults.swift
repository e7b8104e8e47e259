import Foundation

/// Releases results that hold results that hold results … without a stack frame for each level.
///
/// A sequence keeps the values of its children, not the children, so the results of deeply nested sequences hang
/// together only through each other, and the standard library would release them by recursion.
enum NestedResults {
  /// - Parameter results: emptied, which is how this gets hold of the last reference.
  static func release(_ results: inout [any Sendable]) {
    var pending = takeNested(from: &results)
    results = []
    while !pending.isEmpty {
      var last = pending.removeLast()
      pending += takeNested(from: &last)
    }
  }

  /// The same for the results among the outcomes of children.
  static func release(_ outcomes: inout [Outcome<any Sendable>]) {
    var nested: [any Sendable] = []
    for case .success(let value) in outcomes where type(of: value) == [any Sendable].self { nested.append(value) }
    outcomes = []
    if !nested.isEmpty { release(&nested) }
  }

  /// Moves the results out that are among the results. Leaves those alone that somebody else holds too.
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
  /// Whether nobody else holds the same storage. If somebody does, this is a copy afterwards.
  fileprivate var isUnique: Bool {
    mutating get {
      let before = withUnsafeBufferPointer { $0.baseAddress }
      let after = withUnsafeMutableBufferPointer { UnsafePointer($0.baseAddress) }
      return before == after
    }
  }
}
