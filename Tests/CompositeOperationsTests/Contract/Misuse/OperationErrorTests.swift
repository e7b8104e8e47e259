import CompositeOperations
import Foundation
import TestSupport
import Testing

/// An error that a correct caller can meet has a code, and a text that names the operation and the
/// remedy.
@Suite("10 OperationError", .hangLimit)
struct OperationErrorTests {
  @Test("3.2 The same child twice: duplicateChild")
  func child_twice_isDuplicate() async throws {
    let child = succeeding(1, named: "photo")
    let error = try await onlyError(of: CompositeOperation(operations: [child, child]))
    expect(error, .duplicateChild, says: "“photo” (SimpleOperation<Int>)", "more than once", "make a new one")
  }

  @Test("3.2 A child that is executing, ours or plain: alreadyInUse", arguments: [true, false])
  func child_executing_isInUse(isOurs: Bool) async throws {
    let held = HeldOperation<Int>("photo")
    let plain = AsyncPlainOperation()
    plain.name = "photo"
    let child: Operation = isOurs ? held : plain
    child.start()
    let error = try await onlyError(of: CompositeOperation(operations: [child]))
    expect(
      error, .alreadyInUse, says: "“photo” (\(type(of: child)))", "executing or waiting elsewhere", "composed elsewhere"
    )
    held.finish(with: 1)
    plain.complete()
  }

  @Test("3.2 A child of another composite that has not started it yet: alreadyInUse")
  func child_composedElsewhere_isInUse() async throws {
    let child = succeeding(1, named: "photo")
    let other = CompositeOperation(operations: [child])
    other.isSuspended = true
    other.start()
    let error = try await onlyError(of: CompositeOperation(operations: [child]))
    expect(error, .alreadyInUse, says: "“photo”", "composed")
    other.isSuspended = false
    #expect(await settled(other).value as? [Int] == [1])
  }

  #if os(Linux)
  @Test("3.2, 3.3 An operation that waits in a queue: alreadyInUse, and the queue runs it", arguments: [true, false])
  func child_waitingInQueue_isInUse(isParallel: Bool) async throws {
    let queue = OperationQueue(limit: 1, suspended: true)
    let child = succeeding(1, named: "photo")
    queue.addOperation(child)
    let composite =
      isParallel
      ? CompositeOperation(operations: [child]) : CompositeOperation(sequence: ListSequence([child]))
    expect(try await onlyError(of: composite), .alreadyInUse, says: "“photo”", "queued")
    queue.isSuspended = false
    #expect(await settled(child).value == 1)
  }

  @Test("3.2, 3.3 A plain operation that waits in a queue: alreadyInUse, and the queue runs it")
  func plainChild_waitingInQueue_isInUse() async {
    await #expect(processExitsWith: .success) {
      for isParallel in [true, false] {
        let queue = OperationQueue(limit: 1, suspended: true)
        let runs = Locked(0)
        let child = BlockOperation { runs.increment() }
        queue.addOperation(child)
        let composite =
          isParallel
          ? CompositeOperation(operations: [child]) : CompositeOperation(sequence: ListSequence([child]))
        let error = await outcomeOfStarting(composite).error as? CompositeError
        precondition((error?.failures.first?.error as? OperationError)?.code == .alreadyInUse)
        precondition(!child.isCancelled)
        queue.isSuspended = false
        await finished(child)
        precondition(runs.current == 1)
      }
    }
  }

  @Test("3.2 An operation that settled in a queue, and whose completion still runs: alreadyInUse")
  func child_settledInItsQueue_isInUseDuringItsCompletion() async throws {
    let queue = OperationQueue(limit: 1, suspended: true)
    let child = HeldOperation<Int>("photo")
    queue.addOperation(child)
    let composite = CompositeOperation(operations: [child])
    child.completion = { _ in composite.start() }
    child.finish(with: 1)
    let error = try #require(await settled(composite).error as? CompositeError)
    #expect((error.failures.first?.error as? OperationError)?.code == .alreadyInUse)
    #expect(!child.isFinished)
    queue.isSuspended = false
    await finished(child)
  }

  #endif

  @Test("3.3 The next operation of a sequence is executing elsewhere: alreadyInUse")
  func step_executing_isInUse() async throws {
    let held = HeldOperation<Int>("photo")
    held.start()
    let error = try await onlyError(of: CompositeOperation(sequence: ListSequence([held])))
    expect(error, .alreadyInUse, says: "“photo” (HeldOperation<Int>)")
    held.finish(with: 1)
  }

  @Test("3.3 A sequence returns the composite that it belongs to: alreadyInUse")
  func step_compositeItself_isInUse() async throws {
    let own = Locked<Operation?>(nil)
    let composite = CompositeOperation(sequence: ClosureSequence { _ in own.current })
    composite.name = "upload"
    own.withLock { $0 = composite }
    expect(try await onlyError(of: composite), .alreadyInUse, says: "“upload” (CompositeOperation)")
    own.withLock { $0 = nil }
  }

  @Test("3.3 The next operation of a sequence has finished, ours or plain: alreadyFinished", arguments: [true, false])
  func step_finished_isFinished(isOurs: Bool) async throws {
    let step: Operation = isOurs ? succeeding(1) : BlockOperation {}
    step.name = "photo"
    step.start()
    let error = try await onlyError(of: CompositeOperation(sequence: ListSequence([step])))
    expect(error, .alreadyFinished, says: "“photo”", "had already finished", "new operation for each step")
  }

  @Test("A conforming operation that finishes without an outcome: missingOutcome")
  func conforming_withoutOutcome_isMissing() async throws {
    final class Forgetful: Operation, ComposableOperation, @unchecked Sendable {  // it has no fields
      var outcome: Outcome<Int>? { nil }
    }
    let error = try await onlyError(of: CompositeOperation(operations: [Forgetful()]))
    expect(error, .missingOutcome, says: "Forgetful", "without an outcome", "before it announces isFinished")
    await #expect(throws: OperationError.self) { try await Forgetful().run() }
  }

  @Test("3.1.8 An operation of a value without a body: missingBody")
  func operation_withoutBody_isMissing() async throws {
    let operation = SimpleOperation<Int>()
    let error = try #require(await outcomeOfStarting(operation).error as? OperationError)
    expect(error, .missingBody, says: "SimpleOperation<Int>", "no body", "override perform()", "main()")
  }

  @Test("firstSuccess of no operations: noOperations")
  func firstSuccess_ofNone_hasNoOperations() async throws {
    let operation = firstSuccess(of: [SimpleOperation<Int>]())
    let error = try #require(await outcomeOfStarting(operation).error as? OperationError)
    expect(error, .noOperations, says: "no operation", "at least one")
    #expect(error.operationDescription == nil)
  }

  /// The error of the one failure of the composite.
  private func onlyError(of composite: CompositeOperation) async throws -> OperationError {
    let error = try #require(await outcomeOfStarting(composite).error as? CompositeError)
    #expect(error.failures.count == 1)
    return try #require(error.failures[0].error as? OperationError)
  }

  private func expect(_ error: OperationError, _ code: OperationError.Code, says words: String...) {
    #expect(error.code == code)
    for word in words { #expect("\(error)".contains(word), "“\(word)” is missing in: \(error)") }
    #expect(error.errorDescription == error.description && error.localizedDescription == error.description)
  }
}
