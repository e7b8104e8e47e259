import CompositeOperations
import Foundation
import TestSupport
import Testing

/// Misuse neither hangs nor traps: the composite fails with an error that tells what is wrong.
@Suite("3.2 Parallel: misuse", .hangLimit)
struct ParallelMisuseTests {
  @Test("3.2 The same child twice: the composite fails and names the child")
  func child_twice_fails() async throws {
    let child = succeeding(1, named: "download")
    let composite = CompositeOperation(operations: [child, Doubling(1), child])
    let error = try #require(await outcomeOfStarting(composite).error as? CompositeError)
    #expect("\(error)".contains("download"))
    #expect("\(error)".lowercased().contains("twice") || "\(error)".lowercased().contains("more than once"))
    #expect(composite.childOutcomes.count == 3)
    #expect(composite.childOutcomes.allSatisfy { $0 != nil })
    #expect(child.isFinished)
  }

  @Test("3.2 The same plain child twice: the composite fails")
  func plainChild_twice_fails() async {
    let child = BlockOperation {}
    let composite = CompositeOperation(operations: [child, child])
    #expect(await outcomeOfStarting(composite).error is CompositeError)
    #expect(child.isFinished)
  }

  @Test("3.2 A child that is already executing: the composite fails and names it")
  func child_executing_fails() async throws {
    let child = HeldOperation<Int>("download")
    child.start()
    let composite = CompositeOperation(operations: [Doubling(1), child])
    await onWorker { composite.start() }
    // The composite may wait for the child: all children have finished when it settles.
    child.settle(with: .cancelled)
    let error = try #require(await settled(composite).error as? CompositeError)
    #expect("\(error)".contains("download"))
    #expect("\(error)".lowercased().contains("executing"))
  }

  @Test("3.2 A child that is already executing does not make the composite hang")
  func child_executing_doesNotHang() async {
    let child = HeldOperation<Int>(settlesWhenCancelled: true)
    child.start()
    let composite = CompositeOperation(operations: [child])
    #expect(await outcomeOfStarting(composite).error is CompositeError)
    child.finish(with: 1)
  }

  @Test("3.2 A child that another composite is running already: this composite fails, the other one does not")
  func child_ofTwoComposites_failsOne() async {
    let child = HeldOperation<Int>()
    let first = CompositeOperation(operations: [child])
    let second = CompositeOperation(operations: [child])
    await onWorker { first.start() }
    await child.started.wait()
    await onWorker { second.start() }
    child.finish(with: 1)
    let outcomes = await (settled(first), settled(second))
    #expect(outcomes.0.value as? [Int] == [1])
    #expect(outcomes.1.error is CompositeError)
  }

  @Test("3.2 A failed misuse counts like any failure: the composite's other children are not run")
  func child_twice_runsNoOther() async {
    let recorder = EventRecorder<String>()
    let child = succeeding(1, named: "child", recorder: recorder)
    let composite = CompositeOperation(operations: [
      child, child, succeeding(2, named: "other", recorder: recorder),
    ])
    _ = await outcomeOfStarting(composite)
    #expect(recorder.events.isEmpty)
    #expect(composite.operations.allSatisfy { $0.isFinished })
  }
}
