import CompositeOperations
import Foundation
import TestSupport

extension TreeHarness {
  /// Makes the operation of `spec`, and those below it that are not made later.
  func make(_ spec: TreeSpec) -> Operation {
    let operation: Operation
    switch spec {
    case .leaf(let leaf): operation = make(leaf)
    case .parallel(let parallel): operation = make(parallel)
    case .sequential(let sequence): operation = make(sequence)
    case .map(let step, let upstream): operation = makeMap(step, makeComposable(upstream))
    case .then(let step, let upstream, let next): operation = makeThen(step, makeComposable(upstream), next)
    case .recover(let step, let upstream, let replacement): operation = makeRecover(step, upstream, replacement)
    case .zip(let id, let children): operation = makeZip(id, children.map(makeComposable))
    case .all(let id, let width, let children):
      let operations = children.map(makePayload)
      operation = observed(id, width.map { all(operations, maxConcurrent: $0) } ?? all(operations))
    case .firstSuccess(let id, let children):
      operation = observed(id, firstSuccess(of: children.map(makePayload)))
    case .forEach(let id, let width, let makeFailsAt, let children):
      operation = makeForEach(id, width, makeFailsAt, children)
    }
    register(operation, spec.id)
    journal.made(spec.id)
    return operation
  }

  func makeComposable(_ spec: TreeSpec) -> any ComposableOperation {
    make(spec) as! any ComposableOperation  // the generator puts nothing else where an outcome is asked for
  }

  func makePayload(_ spec: TreeSpec) -> SimpleOperation<Payload> {
    make(spec) as! SimpleOperation<Payload>  // likewise
  }

  /// Makes the completion and the cancel hook of an operation report.
  func observed<Value>(_ id: Int, _ operation: SimpleOperation<Value>) -> SimpleOperation<Value> {
    operation.completion = { outcome in
      self.completed(operation, id, outcome)
    }
    operation.onCancel = { self.cancelHookCalled(id) }
    return operation
  }

  func completed<O: ComposableOperation>(_ operation: O, _ id: Int, _ outcome: Outcome<O.Value>) {
    let verdict = Verdict(outcome)
    journal.require(
      operation.outcome.map { Verdict($0) } == verdict, "#\(id) had another outcome than its completion was given")
    journal.require(
      !operation.isFinished || index[id].spec.leaf?.kind == .settled, "#\(id) was finished before its completion")
    journal.settled(id, verdict)
    releaseHeld(id)
    fire(.completion(id))
  }

  func cancelHookCalled(_ id: Int) {
    journal.cancelHookCalled(id)
    fire(.cancelHook(id))
  }

  /// Runs a step with the outcome of the operation before it.
  func runStep<Value, Result>(
    _ step: TreeSpec.Step, after upstream: Int, _ input: Outcome<Value>, _ body: () throws -> Result
  ) throws -> Result {
    let verdict = Verdict(input)
    return try runStep(step.id) {
      journal.require(
        self[upstream]?.anyOutcome.map { Verdict($0) } == verdict, "#\(step.id) was not given what #\(upstream) came to"
      )
      switch step.effect {
      case .value: return try body()
      case .throwError: throw NodeError(node: step.id)
      case .throwCancellation: throw CancellationError()
      }
    }
  }

  private func makeMap<O: ComposableOperation>(_ step: TreeSpec.Step, _ upstream: O) -> Operation {
    let below = index[step.id].children[0]
    let transform: @Sendable (O.Value) throws -> Payload = { value in
      try self.runStep(step, after: below, .success(value)) { .mapped(by: step.id, Payload(erasing: value)) }
    }
    guard step.isAsync else { return observed(step.id, upstream.map(transform)) }
    return observed(
      step.id,
      upstream.mapAsync { value in
        await Task.yield()
        return try transform(value)
      })
  }

  private func makeThen<O: ComposableOperation>(_ step: TreeSpec.Step, _ upstream: O, _ next: TreeSpec) -> Operation {
    let below = index[step.id].children[0]
    if next.settings != nil {
      return observed(
        step.id,
        upstream.then { value in
          try self.runStep(step, after: below, .success(value)) { self.make(next) as! CompositeOperation }
        })
    }
    return observed(
      step.id,
      upstream.then { value in
        try self.runStep(step, after: below, .success(value)) { self.makePayload(next) }
      })
  }

  private func makeRecover(_ step: TreeSpec.Step, _ upstream: TreeSpec, _ replacement: TreeSpec) -> Operation {
    observed(
      step.id,
      makePayload(upstream).recover { error in
        try self.runStep(step, after: upstream.id, Outcome<Payload>.failure(error)) { self.makePayload(replacement) }
      })
  }

  private func makeForEach(_ id: Int, _ width: Int, _ makeFailsAt: Int?, _ children: [TreeSpec]) -> Operation {
    let operation = forEach(Array(children.enumerated()), maxConcurrent: width) { position, child in
      try self.runStep(id) {
        if position == makeFailsAt { throw NodeError(node: id) }
        let operation = self.makePayload(child)
        self.journal.made(child.id, position: position)
        self.journal.activate(child.id)
        return operation
      }
    }
    return observed(id, operation)
  }

  private func makeZip(_ id: Int, _ operations: [any ComposableOperation]) -> Operation {
    operations.count == 2
      ? zipped(id, operations[0], operations[1]) : zipped(id, operations[0], operations[1], operations[2])
  }

  private func zipped(_ id: Int, _ first: some ComposableOperation, _ second: some ComposableOperation) -> Operation {
    observed(id, zip(first, second))
  }

  private func zipped(
    _ id: Int, _ first: some ComposableOperation, _ second: some ComposableOperation, _ third: some ComposableOperation
  ) -> Operation {
    observed(id, zip(first, second, third))
  }
}
