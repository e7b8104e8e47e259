import Foundation

/// Operations in parallel that are made when they can run: the engine of `forEach`.
final class ForEachSource<Item: Sendable, Child: ComposableOperation>: ParallelSource, @unchecked Sendable {  // locked
  private struct Progress {
    /// The operations that were made and have not finished.
    var children: [Int: Child] = [:]
    var values: [Child.Value?]
  }

  private let items: [Item]
  private let make: @Sendable (Item) throws -> Child
  private let progress: LockBox<Progress>

  init(_ items: [Item], _ make: @escaping @Sendable (Item) throws -> Child) {
    self.items = items
    self.make = make
    progress = LockBox(Progress(values: Array(repeating: nil, count: items.count)))
    super.init(count: items.count, policy: .cancelRemaining)
  }

  override func child(_ tag: Int) throws -> Operation {
    let child = try ThreadContext.current.runUserCode { try make(items[tag]) }
    progress.withLock { $0.children[tag] = child }
    return child
  }

  override func existingChild(_ tag: Int) -> Operation? {
    progress.withLock { $0.children[tag] }
  }

  override func childIsDone(_ tag: Int, _ child: Operation) {
    let value = (child as? Child)?.outcome?.value
    progress.withLock { progress in
      progress.values[tag] = value
      return progress.children.removeValue(forKey: tag)
    }.map { withExtendedLifetime($0) {} }  // released outside the lock
  }

  override func conclude(_ verdict: ParallelState.Verdict) {
    switch verdict {
    case .success, .winner:
      settleOwner(as: .success, value: progress.withLock { $0.values.map { $0! } })
    case .failure(let failures):
      settleOwner(as: .failure, error: failures[0].error)
    case .cancelled:
      settleOwner(as: .cancelled)
    }
  }
}
