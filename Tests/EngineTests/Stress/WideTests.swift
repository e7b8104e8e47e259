import CompositeOperations
import Foundation
import Synchronization
import TestSupport
import Testing

/// A hundred thousand children of one composite.
@Suite("3.4 A hundred thousand children of one composite", .serialized, .hangLimit)
struct WideTests {
  private static let count = Scale.count(100_000, least: 2_000)

  /// Where the children run, and how many at once.
  enum Place: CaseIterable, Sendable {
    case workers, workersLimited, queue, queueLimited

    fileprivate func make(_ operations: [Operation]) -> CompositeOperation {
      switch self {
      case .workers: return CompositeOperation(operations: operations)
      case .workersLimited:
        let composite = CompositeOperation(operations: operations)
        composite.maxConcurrentOperationCount = 3
        return composite
      case .queue: return CompositeOperation(operations: operations, operationQueue: OperationQueue())
      case .queueLimited: return CompositeOperation(operations: operations, operationQueue: OperationQueue(limit: 2))
      }
    }
  }

  @Test(arguments: Place.allCases)
  func manyChildren_settlingInMain_allSucceed(place: Place) async {
    let composite = place.make((0..<WideTests.count).map { succeeding($0) })
    composite.start()
    let outcome = await settled(composite)
    #expect(outcome.value as? [Int] == Array(0..<WideTests.count))
  }

  @Test(arguments: Place.allCases)
  func manyChildren_settlingElsewhere_allSucceed(place: Place) async {
    let count = WideTests.count / 4
    let composite = place.make(
      (0..<count).map { number in
        SimpleOperation<Int> { operation in DispatchQueue.global().async { operation.finish(with: number) } }
      })
    composite.start()
    let outcome = await settled(composite)
    #expect(outcome.value as? [Int] == Array(0..<count))
  }

  @Test(arguments: Place.allCases)
  func manyPlainChildren_allRun(place: Place) async {
    let bodies = Counter()
    let composite = place.make((0..<WideTests.count).map { _ in BlockOperation { bodies.increment() } })
    composite.start()
    let outcome = await settled(composite)
    #expect(outcome.value?.count == WideTests.count && bodies.value == WideTests.count)
  }

  @Test func manyForeignAsynchronousChildren_allRun() async {
    let count = WideTests.count / 10
    let composite = CompositeOperation(
      operations: (0..<count).map { _ in
        AsyncPlainOperation { operation in DispatchQueue.global().async { operation.complete() } }
      })
    composite.start()
    let outcome = await settled(composite)
    #expect(outcome.value?.count == count)
  }

  @Test(arguments: Place.allCases)
  func firstOfManyFails_restIsSettledUnrun(place: Place) async {
    let bodies = Counter()
    let failed = Gate()
    let isLimited = place == .workersLimited || place == .queueLimited
    // The failing child lets the ones waiting behind it see its outcome. With a limit the last
    // child does, when it is settled: the others keep their places until then, so it never runs.
    let first = SimpleOperation<Int> { operation in
      operation.reject(with: TestError.first)
      if !isLimited { failed.open() }
    }
    let others = (1..<WideTests.count).map { number in
      SimpleOperation<Int> { operation in
        bodies.increment()
        failed.whenOpen { operation.finish(with: number) }
      }
    }
    if isLimited { others.last?.completion = { _ in failed.open() } }
    let composite = place.make([first] + others)
    composite.start()
    let outcome = await settled(composite)
    if isLimited { #expect(bodies.value < 3) }
    #expect((outcome.error as? CompositeError)?.failures.map(\.index) == [0])
    let isSettled = others.allSatisfy { $0.isFinished }
    #expect(isSettled)
    let slots = composite.childOutcomes
    #expect(slots.count { $0?.isCancelled == true } + slots.count { $0?.value != nil } == WideTests.count - 1)
  }

  @Test(arguments: Place.allCases)
  func manyChildren_cancelledMeanwhile_allFinish(place: Place) async {
    let reached = Gate()
    let bodies = Counter()
    let children = (0..<WideTests.count).map { number in
      SimpleOperation<Int> { operation in
        if bodies.increment() == 500 { reached.open() }
        operation.finish(with: number)
      }
    }
    let composite = place.make(children)
    composite.start()
    await reached.wait()
    composite.cancel()
    let outcome = await settled(composite)
    // It may have ended before the cancel came.
    #expect(outcome.isCancelled == composite.isCancelled)
    let isFinished = children.allSatisfy { $0.isFinished }
    #expect(isFinished)
  }

  @Test func manyCompositions_settlingAsTheyAreCancelled_cancelledFromFurtherOut_endOnASmallStack() async {
    let leaves = (0..<WideTests.count / 10).map { _ in HeldOperation<Int>(settlesWhenCancelled: true) }
    let root = all(leaves.map { $0.map { $0 } }).map(\.count)
    root.start()
    for leaf in leaves { await leaf.started.wait() }
    await onThread(stackSize: 512 * 1024) { root.cancel() }
    #expect(await settled(root).isCancelled)
  }

  @Test(arguments: [false, true], [false, true])
  func dependencies_inOneChain_runInOrder_andAreReleased(isBackwards: Bool, hasComposition: Bool) async {
    var composite: CompositeOperation? = WideTests.chain(isBackwards: isBackwards, hasComposition: hasComposition)
    composite!.start()
    let outcome = await settled(composite!)
    #expect(outcome.value?.count == WideTests.count)
    #expect((outcome.value as? [Bool])?.allSatisfy { $0 } == true)
    // Foundation keeps a dependency as long as its dependent, and would release the chain
    // recursively from the wrong end.
    composite = nil
  }

  private static func chain(isBackwards: Bool, hasComposition: Bool) -> CompositeOperation {
    let order = Counter()
    let children = (0..<count).map { number -> SimpleOperation<Bool> in
      let place = isBackwards ? count - number : number + 1
      let child = SimpleOperation<Bool> { operation in operation.finish(with: order.increment() == place) }
      return hasComposition && number == count / 2 ? child.map { $0 } : child
    }
    for number in 1..<count {
      let (earlier, later) = isBackwards ? (number, number - 1) : (number - 1, number)
      children[later].addDependency(children[earlier])
    }
    return CompositeOperation(operations: children)
  }

  @Test func typedCompositions_ofMany_keepTheOrder() async throws {
    let numbers = Array(0..<WideTests.count)
    let together = try await all(numbers.map { succeeding($0) }).run()
    #expect(together == numbers)
    let each = try await forEach(numbers, maxConcurrent: 4) { succeeding($0 * 2) }.run()
    #expect(each == numbers.map { $0 * 2 })
    let first = try await firstSuccess(
      of: numbers.map { $0 == 10 ? succeeding($0) : failing(TestError.first) }
    ).run()
    #expect(first == 10)
  }

  @Test func nestedComposites_aThousandTimesAHundred_allSucceed() async {
    let width = max(WideTests.count / 100, 10)
    let composite = CompositeOperation(
      operations: (0..<width).map { part in
        CompositeOperation(operations: (0..<100).map { succeeding(part * 100 + $0) })
      })
    composite.start()
    let outcome = await settled(composite)
    let values = (outcome.value ?? []).flatMap { ($0 as? [any Sendable]) ?? [] }
    #expect(values as? [Int] == Array(0..<width * 100))
  }
}

/// A counter for many threads.
private final class Counter: Sendable {
  private let number = Atomic(0)

  var value: Int { number.load(ordering: .relaxed) }

  /// Adds one and returns the new number.
  @discardableResult
  func increment() -> Int { number.add(1, ordering: .relaxed).newValue }
}
