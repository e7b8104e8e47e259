import CompositeOperations
import Foundation
import TestSupport

extension TreeHarness {
  func make(_ leaf: TreeSpec.Leaf) -> Operation {
    switch leaf.kind {
    case .closure, .executing:
      let operation = SimpleOperation<Payload> { operation in self.run(leaf, operation) }
      operation.completion = { outcome in self.completed(operation, leaf.id, outcome) }
      operation.onCancel = { self.cancelHookCalled(leaf, operation) }
      if leaf.kind == .executing {
        register(operation, leaf.id)
        operation.start()
      }
      return operation
    case .subclass:
      let operation = TreeLeaf(leaf, self)
      operation.completion = { outcome in self.completed(operation, leaf.id, outcome) }
      return operation
    case .async:
      return observed(leaf.id, AsyncOperation { try await self.work(leaf) })
    case .settled:
      let operation = SimpleOperation<Payload>()
      operation.settle(with: leaf.outcome)
      return observed(leaf.id, operation)
    case .bodyless:
      return observed(leaf.id, SimpleOperation<Payload>())
    case .block:
      return BlockOperation {
        self.begin(leaf.id)
        _ = self.finishing(leaf) { leaf.outcome }
      }
    case .foreign:
      return makeForeign(leaf)
    case .conforming:
      return ConformingOperation<Payload> {
        self.begin(leaf.id)
        return self.finishing(leaf) { leaf.outcome }
      }
    case .asyncConforming:
      return makeConforming(leaf)
    }
  }

  /// The body of a leaf that settles itself.
  func run(_ leaf: TreeSpec.Leaf, _ operation: SimpleOperation<Payload>) {
    begin(leaf.id)
    if leaf.kind == .executing {
      hold(until: index[leaf.id].parent) { self.settle(leaf, operation, with: leaf.outcome) }
    } else {
      later(leaf.delay) { self.settle(leaf, operation, with: leaf.outcome) }
    }
  }

  func cancelHookCalled(_ leaf: TreeSpec.Leaf, _ operation: SimpleOperation<Payload>) {
    cancelHookCalled(leaf.id)
    if leaf.yieldsToCancel { settle(leaf, operation, with: .cancelled) }
  }

  private func settle(_ leaf: TreeSpec.Leaf, _ operation: SimpleOperation<Payload>, with outcome: Outcome<Payload>) {
    journal.end(leaf.id)
    let isAccepted =
      switch outcome {
      case .success(let payload): operation.finish(with: payload)
      case .failure(let error): operation.reject(with: error)
      // Both ways to settle as cancelled.
      case .cancelled where leaf.id.isMultiple(of: 2): operation.settle(with: .cancelled)
      case .cancelled: operation.reject(with: CancellationError())
      }
    if isAccepted { journal.accepted(leaf.id, Verdict(outcome)) }
  }

  private func work(_ leaf: TreeSpec.Leaf) async throws -> Payload {
    begin(leaf.id)
    defer { journal.end(leaf.id) }
    if leaf.yieldsToCancel { try Task.checkCancellation() }
    await withCheckedContinuation { continuation in later(leaf.delay) { continuation.resume() } }
    if leaf.yieldsToCancel { try Task.checkCancellation() }
    return try leaf.outcome.get()
  }

  private func makeForeign(_ leaf: TreeSpec.Leaf) -> Operation {
    let operation = AsyncPlainOperation(ignoresCancel: true) { operation in
      self.begin(leaf.id)
      self.later(leaf.delay) {
        _ = self.finishing(leaf) { operation.isCancelled ? .cancelled : leaf.outcome }
        operation.complete()
      }
    }
    return operation
  }

  private func makeConforming(_ leaf: TreeSpec.Leaf) -> Operation {
    let operation = AsyncConformingOperation<Payload>(ignoresCancel: true)
    operation.started.whenOpen { [weak operation] in
      guard let operation else { return }
      self.begin(leaf.id)
      self.later(leaf.delay) {
        operation.settle(self.finishing(leaf) { operation.isCancelled ? .cancelled : leaf.outcome })
      }
    }
    return operation
  }

  /// Records that an operation without a completion is about to finish. Returns its outcome.
  private func finishing(_ leaf: TreeSpec.Leaf, _ outcome: () -> Outcome<Payload>) -> Outcome<Payload> {
    journal.end(leaf.id)
    fire(.completion(leaf.id))
    let outcome = outcome()
    journal.settled(leaf.id, Verdict(outcome))
    return outcome
  }

  private func later(_ delay: TreeSpec.Leaf.Delay, _ job: @escaping @Sendable () -> Void) {
    switch delay {
    case .none: job()
    case .hops(let hops): pool.run(afterHops: hops, job)
    case .drawn: pool.runWhenDrawn(job)
    }
  }
}

/// A leaf as users write them: a subclass with `main` and `didCancel`.
private final class TreeLeaf: SimpleOperation<Payload>, @unchecked Sendable {  // both fields are immutable
  private let leaf: TreeSpec.Leaf
  private let harness: TreeHarness

  init(_ leaf: TreeSpec.Leaf, _ harness: TreeHarness) {
    self.leaf = leaf
    self.harness = harness
    super.init()
  }

  override func main() { harness.run(leaf, self) }

  override func didCancel() { harness.cancelHookCalled(leaf, self) }
}

extension TreeSpec.Leaf {
  /// The outcome unless it is cancelled.
  var outcome: Outcome<Payload> {
    switch result {
    case .value: .success(kind.isPlain ? .unit : .number(id))
    case .error: .failure(NodeError(node: id))
    case .cancelled: .cancelled
    }
  }
}
