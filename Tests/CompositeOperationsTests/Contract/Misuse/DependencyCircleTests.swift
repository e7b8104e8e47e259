import CompositeOperations
import Foundation
import TestSupport
import Testing

/// Children that could never start, because they wait for each other or for their composite.
@Suite("3.2 Circles of dependencies", .hangLimit)
struct DependencyCircleTests {
  private func code(_ error: (any Error)?) -> OperationError? { error as? OperationError }

  @Test(
    "Two children that wait for each other: the composite fails with an error that names both", arguments: Kind.allCases
  )
  func children_waitingForEachOther_failTheComposite(kind: Kind) async throws {
    let (first, second) = (kind.make("first"), kind.make("second"))
    first.addDependency(second)
    second.addDependency(first)
    let composite = CompositeOperation(operations: [first, second])
    let error = try #require(await outcomeOfStarting(composite).error as? CompositeError)
    let reason = try #require(kind.reason(in: error.failures[0].error))
    #expect(reason.code == .dependencyCircle)
    #expect("\(reason)".contains("“first”") && "\(reason)".contains("“second”"), "\(reason)")
    #expect(first.isFinished && second.isFinished)
  }

  /// An operation whose name is asked for in errors.
  private final class Asked: SimpleOperation<Int>, @unchecked Sendable {
    let whenAsked = Locked<(@Sendable () -> Void)?>(nil)

    override var name: String? {
      get {
        whenAsked.current?()
        return "asked"
      }
      set {}
    }

    override func perform() -> Int { 1 }
  }

  @Test("The name of a child in a circle may use the composite")
  func nameOfChildInCircle_mayCancelTheComposite() async {
    let (first, second) = (Asked(), succeeding(2))
    first.addDependency(second)
    second.addDependency(first)
    let composite = CompositeOperation(operations: [first, second])
    // The second one is not handed out before.
    composite.maxConcurrentOperationCount = 1
    first.whenAsked.withLock { $0 = { [weak composite] in composite?.cancel() } }
    #expect(await outcomeOfStarting(composite).isCancelled)
    #expect(first.isFinished && second.isFinished)
  }

  @Test("In a queue, too: every slot is free again")
  func children_waitingForEachOtherInQueue_failTheComposite() async {
    let queue = OperationQueue(limit: 1)
    let (first, second) = (succeeding(1), succeeding(2))
    first.addDependency(second)
    second.addDependency(first)
    let composite = CompositeOperation(operations: [first, second], operationQueue: queue)
    queue.addOperation(composite)
    #expect(await settled(composite).error is CompositeError)
    let next = succeeding(3)
    queue.addOperation(next)
    #expect(await settled(next).value == 3)
  }

  @Test("Under .waitForAll all that are in the circle fail, none runs, and the others succeed")
  func circle_underWaitForAll_failsItsMembersOnly() async throws {
    let recorder = EventRecorder<String>()
    let circle = (0..<5).map { succeeding($0, named: "\($0)", recorder: recorder) }
    for (index, operation) in circle.enumerated() { operation.addDependency(circle[(index + 1) % 5]) }
    let after = succeeding(9, named: "after", recorder: recorder)
    after.addDependency(circle[0])
    let composite = CompositeOperation(
      operations: [succeeding(8, named: "other", recorder: recorder)] + circle + [after])
    composite.failurePolicy = .waitForAll
    let error = try #require(await outcomeOfStarting(composite).error as? CompositeError)
    #expect(error.failures.map(\.index) == [1, 2, 3, 4, 5])
    #expect(error.failures.allSatisfy { code($0.error)?.code == .dependencyCircle })
    // An operation that waits for a failed one runs, as in a queue.
    #expect(recorder.events.sorted() == ["after", "other"])
    #expect(composite.results as? [Int] == [8, 9])
  }

  @Test("Plain operations in a circle under .waitForAll fail as well, though they hold no error")
  func plainCircle_underWaitForAll_failsItsMembers() async throws {
    let (first, second) = (BlockOperation {}, BlockOperation {})
    first.addDependency(second)
    second.addDependency(first)
    let composite = CompositeOperation(operations: [first, second, succeeding(3)])
    composite.failurePolicy = .waitForAll
    let error = try #require(await outcomeOfStarting(composite).error as? CompositeError)
    #expect(error.failures.map(\.index) == [0, 1])
    #expect(error.outcomes.map { Ending($0) } == [.failure, .failure, .success])
    #expect(first.isFinished && second.isFinished)
  }

  @Test("A child that waits for its own composite", arguments: [true, false])
  func child_waitingForItsComposite_failsIt(isParallel: Bool) async throws {
    let child = succeeding(1, named: "child")
    let composite =
      isParallel
      ? CompositeOperation(operations: [child, succeeding(2)])
      : CompositeOperation(sequence: LinearSequence({ _ in succeeding(0) }, { _ in child }))
    composite.name = "album"
    child.addDependency(composite)
    let error = try #require(await outcomeOfStarting(composite).error as? CompositeError)
    let reason = try #require(code(error.failures.last?.error))
    #expect("\(reason)".contains("“child”") && "\(reason)".contains("“album”"), "\(reason)")
    #expect(code(child.error)?.code == .dependencyCircle)
  }

  @Test("A child that waits for a composite around its composite, however far out", arguments: [1, 2, 5])
  func child_waitingForAnOuterComposite_fails(levels: Int) async throws {
    let child = succeeding(1, named: "child")
    var inner = CompositeOperation(operations: [child])
    for _ in 0..<levels { inner = CompositeOperation(operations: [inner, succeeding(2)]) }
    inner.name = "outermost"
    child.addDependency(inner)
    #expect(await outcomeOfStarting(inner).error is CompositeError)
    let reason = try #require(code(child.error))
    #expect("\(reason)".contains("“outermost”"), "\(reason)")
  }

  @Test("A child of one child that waits for another child, which waits for the first")
  func grandchild_waitingForASiblingThatWaits_fails() async {
    let grandchild = succeeding(1, named: "grandchild")
    let inner = CompositeOperation(operations: [grandchild])
    let sibling = succeeding(2, named: "sibling")
    sibling.addDependency(inner)
    grandchild.addDependency(sibling)
    let outer = CompositeOperation(operations: [inner, sibling])
    #expect(await outcomeOfStarting(outer).error is CompositeError)
    #expect(sibling.isFinished && grandchild.isFinished)
  }

  @Test("A composite in a circle: it fails, and its children are settled unrun")
  func composite_inCircle_settlesItsChildren() async throws {
    let recorder = EventRecorder<String>()
    let child = succeeding(1, named: "child", recorder: recorder)
    let composite = CompositeOperation(operations: [child])
    let other = succeeding(2, named: "other", recorder: recorder)
    composite.addDependency(other)
    other.addDependency(composite)
    let outer = CompositeOperation(operations: [composite, other])
    outer.failurePolicy = .waitForAll
    #expect(await outcomeOfStarting(outer).error is CompositeError)
    let reason = try #require(composite.error as? CompositeError).failures.first
    #expect(reason?.index == 1)
    #expect(code(reason?.error)?.code == .dependencyCircle)
    #expect(child.outcome?.isCancelled == true)
    #expect(composite.childOutcomes.map { Ending($0) } == [.cancelled])
    #expect(recorder.events.isEmpty)
  }

  @Test("Operations of other types do not hold the error, but those that look at outcomes get it")
  func circle_ofOtherTypes_isTheirOutcome() async throws {
    func circle() -> [ConformingOperation<Int>] {
      let operations = (0..<2).map { number in ConformingOperation<Int> { .success(number) } }
      operations[0].addDependency(operations[1])
      operations[1].addDependency(operations[0])
      return operations
    }
    let outcomes = try #require(await outcomeOfStarting(allSettled(circle())).value)
    #expect(outcomes.map { code($0.error)?.code } == [.dependencyCircle, .dependencyCircle])

    let waiting = ConformingOperation<Int> { .success(1) }
    let look = waiting.settled()
    waiting.addDependency(look)
    #expect(code(await outcomeOfStarting(look).value?.error)?.code == .dependencyCircle)

    let broken = ConformingOperation<Int> { .success(1) }
    let recovered = broken.recover { error in succeeding(error is OperationError ? 2 : 0) }
    broken.addDependency(recovered)
    #expect(await outcomeOfStarting(recovered).value == 2)

    let mapped = ConformingOperation<Int> { .success(1) }
    let map = mapped.map { $0 }
    mapped.addDependency(map)
    #expect(code(await outcomeOfStarting(map).error)?.code == .dependencyCircle)
  }

  @Test("Typed compositions fail with the error itself")
  func circle_inTypedComposition_isItsError() async {
    let (first, second) = (succeeding(1), succeeding(2))
    first.addDependency(second)
    second.addDependency(first)
    #expect(code(await outcomeOfStarting(zip(first, second)).error)?.code == .dependencyCircle)
    let upstream = succeeding(1)
    let chain = upstream.map { $0 + 1 }
    upstream.addDependency(chain)
    #expect(code(await outcomeOfStarting(chain).error)?.code == .dependencyCircle)
  }

  @Test("A child that waits for operations that wait for each other elsewhere is in no circle, and waits")
  func child_waitingForAForeignCircle_waits() async {
    let (first, second) = (succeeding(1), succeeding(2))
    first.addDependency(second)
    second.addDependency(first)
    let child = succeeding(3)
    child.addDependency(first)
    let composite = CompositeOperation(operations: [child])
    await onWorker { composite.start() }
    #expect(!composite.isFinished)
    composite.cancel()
    #expect(await settled(composite).isCancelled)
  }

  @Test(
    "Dependencies that are no circle: diamonds, chains in both orders, one shared by all", arguments: [true, false])
  func dependencies_withoutCircle_areMet(isReversed: Bool) async {
    let shared = succeeding(-1)
    var operations = (0..<200).map { succeeding($0) }
    for index in operations.indices.dropFirst() {
      operations[index].addDependency(operations[index - 1])
      operations[index].addDependency(operations[index / 2])
      operations[index].addDependency(shared)
    }
    if isReversed { operations.reverse() }
    let composite = CompositeOperation(operations: operations + [shared])
    #expect(await outcomeOfStarting(composite).value?.count == 201)
  }

  @Test("An operation made where one of a circle has been is another operation", arguments: [true, false])
  func operationAtAddressOfReleasedCircle_runs(isPlain: Bool) async throws {
    let composite = LockBox<CompositeOperation?>(nil)
    let met = succeeding(0)
    met.start()
    var count = 0
    let sequence = CompositeOperation(sequence: { _ in
      count += 1
      guard count <= 100 else { return nil }
      let step: Operation = isPlain ? BlockOperation {} : SimpleOperation<Int> { 1 }
      if let composite = composite.withLock({ $0.take() }) {
        step.addDependency(composite)
      } else if !isPlain {
        step.addDependency(met)
      }
      return step
    })
    composite.withLock { $0 = sequence }
    _ = await outcomeOfStarting(sequence)
    #expect(sequence.errors.count == 1)
    #expect(sequence.results.count == 99)
  }

  @Test("A circle with an operation that was cancelled is none: that one waits for nothing", arguments: [true, false])
  func circleWithCancelledOperation_isNone(isPlain: Bool) async {
    let first = succeeding(1)
    let second: Operation = isPlain ? BlockOperation {} : succeeding(2)
    first.addDependency(second)
    second.addDependency(first)
    second.cancel()
    let composite = CompositeOperation(operations: [first, second])
    composite.failurePolicy = .waitForAll
    #expect(await outcomeOfStarting(composite).isCancelled)
    #expect(first.outcome?.value == 1)
  }

  @Test("Very many children that wait for a circle: it is searched once")
  func children_waitingForACircle_costLittle() async throws {
    let operations = (0..<20_000).map { succeeding($0) }
    for index in operations.indices.dropLast() { operations[index].addDependency(operations[index + 1]) }
    // The last three, which join two circles.
    let (first, second, third) = (operations[19_997], operations[19_998], operations[19_999])
    second.addDependency(first)
    third.addDependency(second)
    let composite = CompositeOperation(operations: operations)
    composite.failurePolicy = .waitForAll
    let error = try #require(await outcomeOfStarting(composite).error as? CompositeError)
    #expect(!error.failures.isEmpty && error.failures.allSatisfy { $0.index >= 19_997 })
    #expect(composite.results.count + composite.errors.count == 20_000)
  }

  @Test("A composite in a circle, one of whose children has finished already, keeps its value")
  func compositeInCircle_withFinishedChild_keepsItsValue() async {
    let finished = succeeding(1)
    finished.start()
    let inner = CompositeOperation(operations: [finished, succeeding(2)])
    let outer = CompositeOperation(operations: [inner])
    inner.addDependency(outer)
    #expect(await outcomeOfStarting(outer).error is CompositeError)
    #expect(inner.results as? [Int] == [1])
    #expect(inner.childOutcomes.map { Ending($0) } == [.success, .cancelled])
  }

  @Test("A long circle is found without a deep stack, and its text is short")
  func circle_ofManyOperations_isFoundOnSmallStack() async throws {
    let operations = (0..<20_000).map { succeeding($0) }
    for index in operations.indices { operations[index].addDependency(operations[(index + 1) % operations.count]) }
    let composite = CompositeOperation(operations: operations)
    await onThread(stackSize: 512 * 1024) {
      composite.start()
      composite.waitUntilFinished()
    }
    let error = try #require(composite.error as? CompositeError)
    #expect("\(error.failures[0].error)".count < 2_000)
  }

  @Test("A circle that is closed while one of its members waits is found when the next one begins to wait")
  func circle_closedWhileOneWaits_failsTheComposite() async throws {
    let (a, x) = (succeeding(1), succeeding(3))
    a.addDependency(x)
    let adder = SimpleOperation<Int> { () -> Int in
      x.addDependency(a)
      return 2
    }
    let composite = CompositeOperation(operations: [a, adder, x])
    composite.maxConcurrentOperationCount = 1
    let error = try #require(await outcomeOfStarting(composite).error as? CompositeError)
    #expect((error.failures.first?.error as? OperationError)?.code == .dependencyCircle)
  }

  @Test("An operation of a class of its own, in a circle with what maps it, fails that with the error")
  func conforming_inACircleWithItsMap_failsWithTheError() async {
    let upstream = ConformingOperation<Int> { .success(1) }
    let chain = upstream.map { $0 + 1 }
    upstream.addDependency(chain)
    #expect((await outcomeOfStarting(chain).error as? OperationError)?.code == .dependencyCircle)
  }

  enum Kind: CaseIterable {
    case own, plain, composite

    func make(_ name: String) -> Operation {
      let operation: Operation =
        switch self {
        case .own: succeeding(1)
        case .plain: BlockOperation {}
        case .composite: CompositeOperation(operations: [succeeding(1)])
        }
      operation.name = name
      return operation
    }

    /// The error of the child.
    func reason(in error: any Error) -> OperationError? {
      (error as? CompositeError)?.failures.first?.error as? OperationError ?? error as? OperationError
    }
  }
}
