import Foundation

/// Runs operations of different types in parallel, and succeeds with all their values.
///
/// ```swift
/// let page = zip(FetchUser(id: 7), FetchSettings()).map { user, settings in Page(user, settings) }
/// ```
///
/// When one of the operations fails, or other code cancels it, the others are cancelled. When all
/// that it started have finished, the returned operation settles with the error that came first,
/// unwrapped. If one of the operations is already executing, queued, composed elsewhere or settled,
/// the returned operation only waits for it, and does not cancel it.
///
/// - Parameter operations: the operations, which the returned one owns.
public func zip<each O: ComposableOperation>(
  _ operations: repeat each O
) -> SimpleOperation<(repeat (each O).Value)> {
  var children: [Operation] = []
  repeat children.append(each operations)
  return ComposedOperation(
    GatherForm(children, as: .zip, policy: .cancelRemaining) { children, _ in
      var iterator = children.makeIterator()
      func next<Child: ComposableOperation>(_: Child.Type) -> Child.Value {
        Child.gatheredValue(of: iterator.next()!)
      }
      return (repeat next((each O).self))
    })
}

/// Runs operations of one type in parallel, and succeeds with all their values, in the order of the
/// operations.
///
/// See ``zip(_:)`` for failures, cancellation, and operations that are under way already.
///
/// - Parameters:
///   - operations: the operations, which the returned one owns.
///   - maxConcurrent: how many may be unfinished at the same time. Positive, or
///     `OperationQueue.defaultMaxConcurrentOperationCount` for no limit; anything else traps.
public func all<O: ComposableOperation>(
  _ operations: [O], maxConcurrent: Int = OperationQueue.defaultMaxConcurrentOperationCount
) -> SimpleOperation<[O.Value]> {
  let composition = GatherForm(operations, as: .all, policy: .cancelRemaining) { children, _ in
    children.map { O.gatheredValue(of: $0) }
  }
  composition.width = requireWidth(maxConcurrent, of: "maxConcurrent of all")
  return ComposedOperation(composition)
}

/// Runs operations of one type in parallel, and succeeds with how each of them ended, in the order
/// of the operations.
///
/// ```swift
/// let pages = allSettled(addresses.map { FetchPage($0) }).map { outcomes in
///   outcomes.compactMap(\.value)
/// }
/// ```
///
/// The returned operation never fails. If one of the operations fails, or other code cancels it,
/// the others continue, and its outcome is one of the values. Cancelling the returned operation
/// cancels the operations that it runs. When they have finished, it settles as cancelled.
/// Operations that are already under way are treated as in ``zip(_:)``. To make operations only
/// when they can run, use ``forEach(_:maxConcurrent:_:)`` with ``ComposableOperation/settled()``.
///
/// - Parameters:
///   - operations: the operations, which the returned one owns.
///   - maxConcurrent: how many may be unfinished at the same time. Positive, or
///     `OperationQueue.defaultMaxConcurrentOperationCount` for no limit; anything else traps.
public func allSettled<O: ComposableOperation>(
  _ operations: [O], maxConcurrent: Int = OperationQueue.defaultMaxConcurrentOperationCount
) -> SimpleOperation<[Outcome<O.Value>]> {
  let composition = GatherForm(operations, as: .allSettled, policy: .settleAll) { children, refusals in
    children.enumerated().map { ($1 as! O).settledOutcome(refusals[$0]) }
  }
  composition.width = requireWidth(maxConcurrent, of: "maxConcurrent of allSettled")
  return ComposedOperation(composition)
}

/// Runs operations in parallel, and succeeds with the value of the first that succeeds. The rest
/// are cancelled.
///
/// The returned operation settles when all have finished. If none succeeds, it fails with a
/// ``CompositeError`` that has the errors of all that failed. If other code cancelled all
/// operations, the returned operation is cancelled. If there are no operations, it fails with an
/// ``OperationError``. Operations that are already under way are treated as in ``zip(_:)``.
///
/// - Parameter operations: the operations, which the returned one owns.
public func firstSuccess<O: ComposableOperation>(of operations: [O]) -> SimpleOperation<O.Value> {
  ComposedOperation(
    GatherForm(operations, as: .firstSuccess, policy: .firstSuccess) { children, _ in
      O.gatheredValue(of: children[0])
    })
}

/// Makes an operation for each item, runs them in parallel, and succeeds with their values, in the
/// order of the items.
///
/// ```swift
/// let sizes = forEach(urls, maxConcurrent: 4) { url in HeadRequest(url) }
/// ```
///
/// An operation is made only when it can run, and released when it has run. When one fails or
/// cannot be made, no further operation is made, and the running ones are cancelled. When these
/// have finished, the returned operation settles with the error that came first, unwrapped.
///
/// - Parameters:
///   - items: the items. Read before this returns.
///   - maxConcurrent: how many operations may be unfinished at the same time. Positive, or
///     `OperationQueue.defaultMaxConcurrentOperationCount` for no limit; anything else traps.
///   - make: makes the operation for an item. Called where the operations run, by several threads
///     at once. An error that it throws counts as the failure of the operation, and a
///     `CancellationError` as its cancellation.
public func forEach<S: Swift.Sequence, O: ComposableOperation>(
  _ items: S, maxConcurrent: Int = OperationQueue.defaultMaxConcurrentOperationCount,
  _ make: @escaping @Sendable (S.Element) throws -> O
) -> SimpleOperation<[O.Value]> where S.Element: Sendable {
  let items = Array(items)
  let composition = ForEachForm(count: items.count) {
    try make(items[$0])
  } gather: { values in
    values.map { $0! as! O.Value }
  }
  composition.width = requireWidth(maxConcurrent, of: "maxConcurrent of forEach")
  return ComposedOperation(composition)
}
