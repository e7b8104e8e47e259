import Foundation

/// Runs operations in parallel, and makes each when it can run: the engine of `forEach`.
final class ForEachSource<Item: Sendable, Child: ComposableOperation>: ParallelSource, @unchecked Sendable {  // locked
  private struct Progress {
    /// The operations that were made and have not finished.
    var children: [Int: Child] = [:]
    var values: [Child.Value?]
    /// Those to cancel as soon as they are made.
    var cancelled: Set<Int> = []
  }

  // Released when all children are done.
  private var items: [Item]
  private var make: (@Sendable (Item) throws -> Child)?
  private let progress: LockBox<Progress>

  init(_ items: [Item], _ make: @escaping @Sendable (Item) throws -> Child) {
    self.items = items
    self.make = make
    progress = LockBox(Progress(values: Array(repeating: nil, count: items.count)))
    super.init(count: items.count, policy: .cancelRemaining)
  }

  override func child(_ tag: Int) throws -> Operation {
    // One that has waited was made before.
    if let child = existingChild(tag) { return child }
    guard let make else { preconditionFailure("Child \(tag) was asked for when all were done") }
    let child = try runUserCode(.current) { try make(items[tag]) }
    let isCancelled = progress.withLock { progress in
      progress.children[tag] = child
      return progress.cancelled.remove(tag) != nil
    }
    tellAdded(child, tag: tag)
    if isCancelled { cancelWaiting(child, tag: tag, joins: true, ThreadContext.current) }
    return child
  }

  override var kind: OperationKind { .forEach }

  override var knownChildren: KnownChildren {
    KnownChildren(contents: progress.withLock { $0.children.sorted { $0.key < $1.key }.map(\.value) })
  }

  override func existingChild(_ tag: Int) -> Operation? {
    progress.withLock { $0.children[tag] }
  }

  override func cancelUnmade(_ tag: Int) -> Operation? {
    progress.withLock { progress in
      if let child = progress.children[tag] { return child }
      if progress.values[tag] == nil { progress.cancelled.insert(tag) }
      return nil
    }
  }

  override func forEachChild(_ body: (Operation, _ tag: Int) -> Void) {
    for (tag, child) in progress.withLock({ $0.children }).sorted(by: { $0.key < $1.key }) { body(child, tag) }
  }

  override var pastTags: [Int] {
    progress.withLock { progress in progress.values.indices.filter { progress.values[$0] != nil } }
  }

  override func childIsDone(_ tag: Int, _ child: Operation?) {
    let value = (child as? Child)?.outcome?.value
    progress.withLock { progress in
      progress.values[tag] = value
      return progress.children.removeValue(forKey: tag)
    }.map { withExtendedLifetime($0) {} }  // released outside the lock
  }

  override func conclude(_ verdict: ParallelState.Verdict) {
    make = nil
    items = []
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
