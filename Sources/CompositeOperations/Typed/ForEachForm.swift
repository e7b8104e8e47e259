import Foundation

/// Runs operations in parallel, and makes each when it can run: the form of `forEach`.
///
/// Not generic: generic code looks up its types at run time, for each child.
final class ForEachForm: Composition, @unchecked Sendable {  // the thread that ends the last child takes the fields
  @exclusivity(unchecked) private var makeChild: (@Sendable (Int) throws -> Operation)?
  @exclusivity(unchecked) private var gather: (@Sendable ([(any Sendable)?]) -> any Sendable)?

  /// - Parameters:
  ///   - make: makes the operation of the item with an index.
  ///   - gather: makes the value from the values of the operations, which have all succeeded.
  init(
    count: Int, make: @escaping @Sendable (Int) throws -> Operation,
    gather: @escaping @Sendable ([(any Sendable)?]) -> any Sendable
  ) {
    makeChild = make
    self.gather = gather
    super.init(.forEach, .list(count, .cancelRemaining, makesChildren: true), .joins)
  }

  override func make(_ tag: Int, after previous: Operation?, _ refusal: OperationError?) throws -> Made {
    guard let makeChild else { preconditionFailure("Child \(tag) was asked for when all were done") }
    return .run(try makeChild(tag))
  }

  override func conclude(_ verdict: Verdict, count: Int) {
    let gather = gather.take()
    switch verdict {
    case .success:
      let values = table.withLock { table in
        defer { table.endings.values = [] }
        return table.endings.values
      }
      settleOwner(.success(gather?(values)))
    case .failures(let failures): settleOwner(.failure(failures[0].error))
    default: settleOwner(.cancelled)
    }
  }

  override func discard() -> Operation? {
    makeChild = nil
    return nil
  }
}
