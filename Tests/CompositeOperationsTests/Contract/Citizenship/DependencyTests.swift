import CompositeOperations
import Foundation
import TestSupport
import Testing

/// Dependencies in both directions between own and plain operations, in a queue and among children.
@Suite("6 Foundation: dependencies", .hangLimit)
struct DependencyTests {
  @Test("In a queue each kind waits for each kind", arguments: Kind.allCases, Kind.allCases)
  func dependency_inQueue_isHeld(first: Kind, second: Kind) async {
    let recorder = EventRecorder<String>()
    let dependency = first.make("first", recorder)
    let dependent = second.make("second", recorder)
    dependent.addDependency(dependency)
    let queue = OperationQueue()
    queue.addOperation(dependent)
    queue.addOperation(dependency)
    await finished(dependent)
    #expect(recorder.events == ["first", "second"])
  }

  @Test("Among children each kind waits for each kind", arguments: Kind.allCases, Kind.allCases)
  func dependency_amongChildren_isHeld(first: Kind, second: Kind) async {
    let recorder = EventRecorder<String>()
    let dependency = first.make("first", recorder)
    let dependent = second.make("second", recorder)
    dependent.addDependency(dependency)
    let composite = CompositeOperation(operations: [dependent, dependency])
    #expect(await outcomeOfStarting(composite).value?.count == 2)
    #expect(recorder.events == ["first", "second"])
  }

  @Test("Among children on a given queue each kind waits for each kind", arguments: Kind.allCases, Kind.allCases)
  func dependency_amongChildrenOnQueue_isHeld(first: Kind, second: Kind) async {
    let recorder = EventRecorder<String>()
    let dependency = first.make("first", recorder)
    let dependent = second.make("second", recorder)
    dependent.addDependency(dependency)
    let composite = CompositeOperation(
      operations: [dependent, dependency], operationQueue: OperationQueue(limit: 1))
    #expect(await outcomeOfStarting(composite).value?.count == 2)
    #expect(recorder.events == ["first", "second"])
  }

  @Test("Across composites: a child waits for a child of another composite", arguments: Kind.allCases)
  func dependency_acrossComposites_isHeld(kind: Kind) async {
    let recorder = EventRecorder<String>()
    let dependency = kind.make("first", recorder)
    let dependent = succeeding(1, named: "second", recorder: recorder)
    dependent.addDependency(dependency)
    let waiting = CompositeOperation(operations: [dependent])
    let running = CompositeOperation(operations: [dependency])
    await onWorker { waiting.start() }
    #expect(await outcomeOfStarting(running).value?.count == 1)
    #expect(await settled(waiting).value?.count == 1)
    #expect(recorder.events == ["first", "second"])
  }

  @Test("A dependency inside a queue is satisfied by finishing, also by a failure or a cancel")
  func dependency_failingOrCancelled_isSatisfied() async {
    let queue = OperationQueue()
    for dependency in [failing(TestError.first), cancelling()] {
      let dependent = succeeding(1)
      dependent.addDependency(dependency)
      queue.addOperation(dependent)
      queue.addOperation(dependency)
      #expect(await settled(dependent).value == 1)
    }
  }

  @Test("A child with many dependencies, some met, some among its siblings, some elsewhere, starts after all")
  func child_withManyDependencies_startsAfterAll() async {
    let recorder = EventRecorder<String>()
    let met = succeeding(0)
    met.start()
    let elsewhere = HeldOperation<Int>()
    let siblings = (0..<10).map { succeeding($0, named: "sibling", recorder: recorder) }
    let child = succeeding(99, named: "child", recorder: recorder)
    for dependency in [met, elsewhere] + siblings as [Operation] { child.addDependency(dependency) }
    let composite = CompositeOperation(operations: [child] + siblings)
    await onWorker { composite.start() }
    for sibling in siblings { _ = await settled(sibling) }
    #expect(!recorder.contains("child"))
    elsewhere.start()
    elsewhere.finish(with: 1)
    #expect(await settled(composite).value?.count == 11)
    #expect(recorder.events.last == "child")
  }

  @Test("A long chain of children that depend on each other, listed backwards")
  func children_inAChain_runInOrder() async {
    let recorder = EventRecorder<Int>()
    let children = (0..<1000).map { number in
      SimpleOperation<Int> { operation in
        recorder.record(number)
        operation.finish(with: number)
      }
    }
    for (child, next) in Swift.zip(children, children.dropFirst()) { next.addDependency(child) }
    let composite = CompositeOperation(operations: children.reversed())
    #expect(await outcomeOfStarting(composite).value as? [Int] == (0..<1000).reversed())
    #expect(recorder.events == Array(0..<1000))
  }

  @Test(
    "A foreign dependency that never runs, then a cancel of the composite: it settles", arguments: [true, false])
  func foreignDependency_neverRun_thenCancel(isPlain: Bool) async {
    let never: Operation = isPlain ? BlockOperation {} : HeldOperation<Int>()
    let child = succeeding(1)
    child.addDependency(never)
    let plainChild = BlockOperation {}
    plainChild.addDependency(never)
    let other = succeeding(2)
    let composite = CompositeOperation(operations: [child, plainChild, other])
    await onWorker { composite.start() }
    _ = await settled(other)
    composite.cancel()
    #expect(await settled(composite).isCancelled)
    #expect(child.isFinished && plainChild.isFinished)
    #expect(!never.isFinished && !never.isCancelled)
  }

  @Test("A plain dependency that never runs, then a failure of a sibling: the composite fails")
  func foreignDependency_neverRun_thenFailure() async {
    let never = BlockOperation {}
    let child = succeeding(1)
    child.addDependency(never)
    let composite = CompositeOperation(operations: [child, failing(TestError.first)])
    #expect(await outcomeOfStarting(composite).error is CompositeError)
    #expect(child.outcome?.isCancelled == true)
  }

  @Test("A composite can be a dependency and a dependent")
  func composite_asDependencyAndDependent_isHeld() async {
    let recorder = EventRecorder<String>()
    let first = CompositeOperation(operations: [succeeding(1, named: "first", recorder: recorder)])
    let second = CompositeOperation(operations: [succeeding(2, named: "second", recorder: recorder)])
    second.addDependency(first)
    let queue = OperationQueue()
    queue.addOperation(second)
    queue.addOperation(first)
    _ = await settled(second)
    #expect(recorder.events == ["first", "second"])
  }

  @Test("run() also waits for a dependency that is added while it waits")
  func run_dependencyAddedWhileItWaits_isAwaitedToo() async throws {
    let (first, second) = (HeldOperation<Int>(), HeldOperation<Int>())
    await onWorker { first.start() }
    await onWorker { second.start() }
    let operation = succeeding(3)
    operation.addDependency(first)
    let value = Task { try await operation.run() }
    await settleDown()
    operation.addDependency(second)
    first.finish(with: 1)
    await settleDown()
    #expect(!operation.isFinished)
    second.finish(with: 2)
    #expect(try await value.value == 3)
  }

  @Test("A composite hears that a dependency of its child is removed while guards elsewhere wait for it, too")
  func dependency_removedWhileGuardsElsewhereWaitToo_isAwaitedNoMore() async throws {
    let never = HeldOperation<Int>(), operation = succeeding(1)
    operation.addDependency(never)
    let composite = CompositeOperation(operations: [operation])
    // When it returns, the composite has adopted the operation, which the guards then only join.
    await onWorker { composite.start() }
    await settleDown()
    let registry = ExclusionRegistry()
    let guarded = operation.exclusive("a", in: registry).exclusive("b", in: registry)
    await onWorker { guarded.start() }
    await settleDown()
    operation.removeDependency(never)
    #expect(await settled(guarded).value == 1)
    #expect(await settled(composite).value as? [Int] == [1])
  }

  enum Waiter: CaseIterable { case composite, sequence, run, condition }

  @Test("What waits for a dependency starts when that is removed", arguments: Waiter.allCases, [true, false])
  func dependency_removedWhileItIsAwaited_isAwaitedNoMore(by waiter: Waiter, otherEnds: Bool) async throws {
    let never = HeldOperation<Int>(), other = HeldOperation<Int>()
    let operation = succeeding(1)
    operation.addDependency(never)
    operation.addDependency(other)
    let whole: SimpleOperation<Int> =
      switch waiter {
      case .composite: CompositeOperation(operations: [operation]).map { $0[0] as! Int }
      case .sequence: CompositeOperation(sequence: ListSequence([operation])).map { $0[0] as! Int }
      case .run: operation
      case .condition: operation.condition(Condition("yes") { _ in true })
      }
    let outcome = Task { try await whole.run() }
    await settleDown()
    operation.removeDependency(never)
    await settleDown()
    #expect(!operation.isFinished)
    if otherEnds {
      await onWorker { other.start() }
      other.finish(with: 2)
    } else {
      operation.removeDependency(other)
    }
    #expect(try await outcome.value == 1)
  }
}

/// The kinds of operation in a dependency.
enum Kind: CaseIterable, Sendable {
  case simple, async, composite, block, asyncPlain, conforming

  func make(_ label: String, _ recorder: EventRecorder<String>) -> Operation {
    switch self {
    case .simple: succeeding(1, named: label, recorder: recorder)
    case .async: AsyncOperation { recorder.record(label) }
    case .composite: CompositeOperation(operations: [succeeding(1, named: label, recorder: recorder)])
    case .block: BlockOperation { recorder.record(label) }
    case .asyncPlain:
      AsyncPlainOperation { operation in
        DispatchQueue.global().async {
          recorder.record(label)
          operation.complete()
        }
      }
    case .conforming:
      ConformingOperation<Int> {
        recorder.record(label)
        return .success(1)
      }
    }
  }
}
