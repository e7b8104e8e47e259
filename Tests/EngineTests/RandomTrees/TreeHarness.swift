import CompositeOperations
import Foundation
import TestSupport

/// The operations of one tree and their shared state.
final class TreeHarness: Sendable {
  /// A place in the code of the tree from where something can be cancelled.
  enum Spot: Hashable {
    case body(Int), completion(Int), cancelHook(Int)
  }

  let plan: TreePlan
  let index: TreeIndex
  let journal: TreeJournal
  let pool: SettlerPool
  let queues: [OperationQueue]
  let externals: [Operation]
  private let operations: Locked<[Operation?]>
  private let cancels: [Spot: [TreePlan.Target]]
  /// The closures held until the node with this number settles.
  private let held = Locked<[Int: [@Sendable () -> Void]]>([:])

  init(_ plan: TreePlan) {
    self.plan = plan
    index = TreeIndex(plan)
    journal = TreeJournal(plan, index)
    let pool = SettlerPool(seed: plan.seed)
    self.pool = pool
    queues = plan.queues.map { limit in
      let queue = OperationQueue()
      queue.maxConcurrentOperationCount = limit
      return queue
    }
    externals = plan.externals.map { $0.makeOperation(pool) }
    operations = Locked(Array(repeating: nil, count: plan.nodeCount))
    var cancels: [Spot: [TreePlan.Target]] = [:]
    for cancel in plan.cancels {
      switch cancel.moment {
      case .inBody(let id): cancels[.body(id), default: []].append(cancel.target)
      case .inCompletion(let id): cancels[.completion(id), default: []].append(cancel.target)
      case .inCancelHook(let id): cancels[.cancelHook(id), default: []].append(cancel.target)
      case .beforeStart, .afterStart, .meanwhile: break
      }
    }
    self.cancels = cancels
  }

  /// The operation of a node; nil if it was not made yet, or all were released.
  ///
  /// The tree may end before a thread that calls a cancel hook has finished the call.
  subscript(id: Int) -> Operation? {
    operations.withLock { $0.indices.contains(id) ? $0[id] : nil }
  }

  func register(_ operation: Operation, _ id: Int) {
    operation.name = "#\(id)"
    operations.withLock { $0[id] = operation }
  }

  /// The state of the operations, for debugging a tree that does not end.
  var state: String {
    let lines: [String] = zip(index.nodes, journal.entries).compactMap { node, entry in
      guard let operation = self[node.id] else { return nil }
      let state = operation.isFinished ? "finished" : operation.isExecuting ? "executing" : "not started"
      let isCancelled = operation.isCancelled ? ", cancelled" : ""
      return "#\(node.id) is \(state)\(isCancelled), began \(entry.begun.count), settled \(entry.settled.count)"
    }
    return lines.joined(separator: "\n")
  }

  /// Releases all operations and returns weak references to them.
  func releaseOperations() -> [(id: Int, reference: WeakReference<Operation>)] {
    operations.withLock { operations in
      defer { operations = [] }
      return operations.enumerated().compactMap { id, operation in operation.map { (id, WeakReference($0)) } }
    }
  }

  // MARK: Cancelling

  func fire(_ spot: Spot) {
    for target in cancels[spot] ?? [] { cancel(target) }
  }

  /// Whether each leaf that was cancelled while it ran has called its cancel hook.
  var hooksAreCalled: Bool {
    let entries = journal.entries
    return index.nodes.allSatisfy { node in
      guard let leaf = node.spec.leaf, leaf.kind == .closure || leaf.kind == .subclass else { return true }
      guard leaf.result != .cancelled, self[node.id]?.isCancelled == true else { return true }
      return entries[node.id].begun.isEmpty || entries[node.id].cancelHooks > 0
    }
  }

  func cancel(_ target: TreePlan.Target) {
    switch target {
    case .node(let id): cancel(id)
    case .queue(let number): cancelAll(number)
    }
  }

  private func cancelAll(_ number: Int) {
    let cancel = journal.queueCancelBegins(number)
    queues[number].cancelAllOperations()
    journal.queueCancelEnds(cancel)
  }

  /// Cancels the operation of a node, if there is one yet.
  private func cancel(_ id: Int) {
    guard let operation = self[id] else { return }
    journal.cancelRequested(id)
    operation.cancel()
    guard isOwn(id), !operation.isCancelled else { return }
    journal.require(operation.anyOutcome != nil, "the cancel of #\(id) was lost")
  }

  /// Whether the operation of the node is one of the package's classes, whose outcome and
  /// `isCancelled` agree.
  func isOwn(_ id: Int) -> Bool {
    guard let leaf = index[id].spec.leaf else { return true }
    return !leaf.kind.isPlain && leaf.kind != .conforming && leaf.kind != .asyncConforming
  }

  // MARK: Holding

  func hold(until id: Int?, _ job: @escaping @Sendable () -> Void) {
    guard let id else { return job() }
    held.withLock { $0[id, default: []].append(job) }
  }

  func releaseHeld(_ id: Int) {
    let jobs = held.withLock { $0.removeValue(forKey: id) }
    for job in jobs ?? [] { job() }
  }

  // MARK: Running

  /// The body of a leaf begins: all that it depends on must have finished.
  func begin(_ id: Int) {
    for node in index.path(from: id) {
      guard let operation = self[node.id] else { continue }
      journal.require(
        operation.dependencies.allSatisfy { $0.isFinished },
        "#\(id) ran before the dependencies of #\(node.id) had finished")
    }
    journal.begin(id)
    fire(.body(id))
  }

  /// The closure of a step runs: a transform, a handler, a delegate.
  func runStep<Result>(_ id: Int, _ body: () throws -> Result) rethrows -> Result {
    journal.begin(id)
    defer { journal.end(id) }
    fire(.body(id))
    return try body()
  }
}

extension TreePlan.External {
  fileprivate func makeOperation(_ pool: SettlerPool) -> Operation {
    switch self {
    case .simple:
      SimpleOperation<Void> { operation in pool.run(afterHops: 2) { operation.finish() } }
    case .block:
      BlockOperation {}
    case .foreign:
      AsyncPlainOperation { operation in pool.run(afterHops: 2) { operation.complete() } }
    }
  }
}
