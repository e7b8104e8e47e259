import CompositeOperations
import Foundation
import TestSupport

extension TreeHarness {
  func make(_ parallel: TreeSpec.Parallel) -> Operation {
    var operations = parallel.children.map { make($0.spec) }
    for (child, operation) in zip(parallel.children, operations) {
      if child.priority != .normal { operation.queuePriority = child.priority }
      for position in child.after { operation.addDependency(operations[position]) }
      if let external = child.external { operation.addDependency(externals[external]) }
    }
    if let repeated = parallel.repeated { operations.append(operations[repeated]) }
    let composite =
      if parallel.usesBuilder {
        CompositeOperation {
          for operation in operations { operation }
        }
      } else {
        CompositeOperation(operations: operations, operationQueue: parallel.settings.queue.map { queues[$0] })
      }
    if parallel.waitsForAll { composite.failurePolicy = .waitForAll }
    return observed(parallel.id, composite, parallel.settings)
  }

  func make(_ sequence: TreeSpec.Sequential) -> Operation {
    let queue = sequence.settings.queue.map { queues[$0] }
    let composite =
      switch sequence.style {
      case .scripted:
        CompositeOperation(sequence: ScriptedSequence(sequence, self), operationQueue: queue)
      case .linear:
        CompositeOperation(sequence: linear(sequence), operationQueue: queue)
      case .retry:
        CompositeOperation(sequence: retry(sequence), operationQueue: queue)
      }
    return observed(sequence.id, composite, sequence.settings)
  }

  private func linear(_ sequence: TreeSpec.Sequential) -> LinearSequence {
    // One step more than there are operations, for the ending.
    LinearSequence(
      steps: (0...sequence.steps.count).map { position in
        { previous in try self.next(sequence, at: position, after: previous) }
      })
  }

  private func retry(_ sequence: TreeSpec.Sequential) -> RetrySequence {
    let hasEnding = if case .end = sequence.ending { false } else { true }
    return RetrySequence(maxAttempts: sequence.steps.count + (hasEnding ? 1 : 0)) { attempt in
      let previous = attempt == 1 ? nil : self[sequence.steps[attempt - 2].id]
      return try self.next(sequence, at: attempt - 1, after: previous)!  // nil is only for an ending that is not there
    }
  }

  /// The next operation of a sequence, or its ending.
  func next(
    _ sequence: TreeSpec.Sequential, at position: Int, after previous: Operation?,
    endsNow: @autoclosure () throws -> Bool = false
  ) throws -> Operation? {
    try runStep(sequence.id) {
      let last = journal.entries[sequence.id].made.last.map { self[sequence.steps[$0].id] }
      journal.require(previous === (last ?? nil), "#\(sequence.id) was asked with another operation than the last one")
      journal.require(previous?.isFinished ?? true, "#\(sequence.id) was asked before the last operation finished")
      if try endsNow() { return nil }
      guard position == sequence.steps.count else {
        let operation = make(sequence.steps[position])
        journal.made(sequence.steps[position].id, position: position)
        return operation
      }
      return try ending(sequence, after: previous)
    }
  }

  private func ending(_ sequence: TreeSpec.Sequential, after previous: Operation?) throws -> Operation? {
    switch sequence.ending {
    case .end: return nil
    case .throwError: throw NodeError(node: sequence.id)
    case .throwCancellation: throw CancellationError()
    case .returnFinished:
      if let previous { return previous }
      let finished = SimpleOperation<Void>()
      finished.finish()
      return finished
    case .returnExecuting:
      let executing = SimpleOperation<Void> { operation in
        self.hold(until: sequence.id) { operation.finish() }
      }
      executing.start()
      return executing
    }
  }

  private func observed(
    _ id: Int, _ composite: CompositeOperation, _ settings: TreeSpec.Settings
  ) -> CompositeOperation {
    composite.completion = { outcome in
      self.checkChildren(of: composite, id, outcome)
      self.completed(composite, id, outcome)
    }
    composite.onCancel = { self.cancelHookCalled(id) }
    if let limit = settings.limit { composite.maxConcurrentOperationCount = limit }
    if settings.startsSuspended {
      composite.isSuspended = true
      pool.run(afterHops: 1 + id % 12) { composite.isSuspended = false }
    }
    return composite
  }

  /// Checks the rules that hold once a composite has settled.
  private func checkChildren(of composite: CompositeOperation, _ id: Int, _ outcome: Outcome<[any Sendable]>) {
    let slots = composite.childOutcomes
    journal.require(slots.allSatisfy { $0 != nil }, "#\(id) settled with a nil in childOutcomes")
    if let parallel = index[id].spec.parallel {
      let count = parallel.children.count + (parallel.repeated == nil ? 0 : 1)
      journal.require(slots.count == count, "#\(id) has \(count) children and \(slots.count) outcomes")
    }
    for child in index[id].children where index[child].spec.leaf?.kind != .executing {
      journal.require(self[child]?.isFinished ?? true, "#\(id) settled before its child #\(child) had finished")
    }
    let (results, errors) = (composite.results, composite.errors)
    journal.require(results.count == slots.count { $0?.value != nil }, "#\(id): results differ from childOutcomes")
    switch outcome {
    case .success(let values):
      journal.require(results.count == values.count, "#\(id): results differ")
    case .failure(let error):
      let error = error as? CompositeError
      journal.require(error?.failures.isEmpty == false, "#\(id) failed with \(outcome)")
      journal.require(errors.count == error?.failures.count, "#\(id): errors differ")
      journal.require(error?.outcomes.count == slots.count, "#\(id): outcomes of the error differ")
    case .cancelled:
      journal.require(errors.count == slots.count { $0?.error != nil }, "#\(id): errors differ while cancelled")
    }
  }
}

/// A delegate as users write them: a value with state of its own.
private struct ScriptedSequence: CompositeOperation.Sequence {
  private let sequence: TreeSpec.Sequential
  private let harness: TreeHarness
  private var position = 0

  init(_ sequence: TreeSpec.Sequential, _ harness: TreeHarness) {
    self.sequence = sequence
    self.harness = harness
  }

  mutating func nextOperation(after previous: Operation?) throws -> Operation? {
    defer { position += 1 }
    return try harness.next(sequence, at: position, after: previous, endsNow: endsNow(after: previous))
  }

  private func endsNow(after previous: Operation?) throws -> Bool {
    guard case .scripted(let afterFailure, let continuesAfterCancel) = sequence.style else { return true }
    switch previous?.anyOutcome {
    case nil, .success: return false
    case .cancelled: return !continuesAfterCancel
    case .failure:
      switch afterFailure {
      case .end: return true
      case .goOn: return false
      case .throwError: throw NodeError(node: sequence.id)
      }
    }
  }
}
