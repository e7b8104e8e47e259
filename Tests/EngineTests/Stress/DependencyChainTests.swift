import CompositeOperations
import Foundation
import TestSupport
import Testing

/// Long chains of operations in which each depends on the one before.
@Suite("3.4 Chains of dependencies", .serialized)
struct DependencyChainTests {
  enum Link: CaseIterable, Sendable {
    case simple, map, composite, mixedWithPlain

    func make(_ number: Int) -> Operation {
      switch self {
      case .simple: SimpleOperation<Int> { number }
      case .map: SimpleOperation<Int> { number }.map { $0 }
      case .composite: CompositeOperation(operations: [SimpleOperation<Int> { number }])
      case .mixedWithPlain: number % 2 == 0 ? SimpleOperation<Int> { number } : BlockOperation {}
      }
    }
  }

  private static func chain(of link: Link, _ count: Int) -> (first: WeakReference<Operation>, last: Operation) {
    var last = link.make(0)
    let first = WeakReference(last)
    for number in 1..<count {
      let next = link.make(number)
      next.addDependency(last)
      last = next
    }
    return (first, last)
  }

  // On Apple platforms Foundation releases the dependencies of an operation that never ran.
  #if !canImport(Darwin)
  @Test(arguments: Link.allCases)
  func chain_thatNeverRan_isReleasedOnASmallStack(link: Link) async {
    let count = Scale.count(100_000, least: 10_000)
    let first = await onThread(stackSize: 512 * 1024) { DependencyChainTests.chain(of: link, count).first }
    #expect(first.object == nil)
  }
  #endif

  enum Way: CaseIterable, Sendable {
    case queue, composite, cancelledInQueue
  }

  @Test(arguments: Link.allCases, Way.allCases)
  func chain_thatRan_isReleasedOnASmallStack(link: Link, way: Way) async {
    // A queue scans all operations that wait in it.
    let count = way == .composite ? Scale.count(100_000, least: 10_000) : 3_000
    let first = await onThread(stackSize: 512 * 1024) { () -> WeakReference<Operation> in
      var operations = [link.make(0)]
      for number in 1..<count {
        let next = link.make(number)
        next.addDependency(operations[number - 1])
        operations.append(next)
      }
      let first = WeakReference(operations[0])
      switch way {
      case .queue, .cancelledInQueue:
        let queue = OperationQueue()
        queue.isSuspended = true
        queue.addOperations(operations, waitUntilFinished: false)
        if way == .cancelledInQueue { queue.cancelAllOperations() }
        queue.isSuspended = false
        queue.waitUntilAllOperationsAreFinished()
      case .composite:
        let composite = CompositeOperation(operations: operations)
        composite.start()
        composite.waitUntilFinished()
      }
      // From the last one on, which the others do not depend on.
      let last = operations[count - 1]
      operations = []
      withExtendedLifetime(last) {}
      return first
    }
    #expect(await Patience.reached { first.object == nil })
  }

  private final class Save: SimpleOperation<Int>, @unchecked Sendable {
    private let alive: Locked<Int>

    init(_ alive: Locked<Int>) {
      self.alive = alive
      super.init()
      alive.increment()
    }

    deinit { alive.withLock { $0 -= 1 } }

    override func perform() -> Int { 1 }
  }

  @Test("Of a chain of saves of which the last is kept, that and the one before stay", arguments: [false, true])
  func chainOfSaves_inAQueue_keepsTheLastTwo(isCancelled: Bool) async {
    let queue = OperationQueue(limit: 1)
    let alive = Locked(0)
    var last = Save(alive)
    queue.addOperation(last)
    for _ in 0..<1_000 {
      let next = Save(alive)
      next.addDependency(last)
      if isCancelled { last.cancel() }
      queue.addOperation(next)
      last = next
    }
    await finished(last)
    #expect(await Patience.reached { alive.current == 2 })
    #expect(last.isReady && last.dependencies.count == 1 && last.dependencies[0].isReady)
  }

  @Test("An operation keeps its dependencies when it has finished, until one that depends on it has")
  func dependencies_ofAFinishedOperation_areKeptForItsDependents() async {
    let operations = (0..<3).map { number in SimpleOperation<Int> { number } }
    operations[1].addDependency(operations[0])
    operations[2].addDependency(operations[1])
    for operation in operations[..<2] { operation.start() }
    #expect(operations[1].dependencies == [operations[0]])
    operations[2].start()
    #expect(operations[2].dependencies == [operations[1]])
    #expect(operations[1].dependencies.isEmpty)
  }

  @Test("Thousands of dependencies of one operation are let go")
  func manyDependencies_ofOneOperation_areLetGo() async {
    let count = Scale.count(20_000, least: 2_000)
    let last = SimpleOperation<Int> { 1 }
    let references = await onThread { () -> [WeakReference<Operation>] in
      let operations = (0..<count).map { number in SimpleOperation<Int> { number } }
      let middle = SimpleOperation<Int> { 1 }
      for operation in operations { middle.addDependency(operation) }
      last.addDependency(middle)
      let composite = CompositeOperation(operations: operations + [middle, last])
      composite.start()
      composite.waitUntilFinished()
      return operations.map(WeakReference.init)
    }
    #expect(await Patience.reached { references.allSatisfy { $0.object == nil } })
  }
}
