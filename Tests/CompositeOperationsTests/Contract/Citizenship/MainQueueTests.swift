import CompositeOperations
import Foundation
import TestSupport
import Testing

/// `OperationQueue.main` from async code. (From a plain program: `PlainProgramTests`.)
@Suite("6 Foundation: OperationQueue.main", .hangLimit, .serialized)
struct MainQueueTests {
  @Test("Own operations and composites in OperationQueue.main run there")
  func main_runsOwnOperations() async throws {
    let queues = try await OperationQueue.main.run(
      SimpleOperation<Bool> { operation in operation.finish(with: OperationQueue.current === OperationQueue.main) })
    #expect(queues)
  }

  @Test("Children of a composite on OperationQueue.main run on the main queue, one at a time")
  func main_asGivenQueue_runsChildrenThere() async {
    let gauge = ConcurrencyGauge()
    let seen = EventRecorder<Bool>()
    let children = (0..<50).map { number in
      SimpleOperation<Int> { operation in
        gauge.enter()
        seen.record(isOnMainQueue())
        gauge.leave()
        operation.finish(with: number)
      }
    }
    let composite = CompositeOperation(operations: children, operationQueue: .main)
    #expect(await outcomeOfStarting(composite).value as? [Int] == Array(0..<50))
    #expect(seen.events == Array(repeating: true, count: 50))
    #expect(gauge.maximum == 1)
  }

  @Test("Delegates and transforms of a composite on OperationQueue.main run there")
  func main_asGivenQueue_runsDelegatesThere() async {
    let seen = EventRecorder<Bool>()
    let composite = CompositeOperation(
      sequence: ClosureSequence { previous in
        seen.record(isOnMainQueue())
        guard previous == nil else { return nil }
        return AsyncOperation { 1 }.map { value -> Int in
          seen.record(isOnMainQueue())
          return value
        }
      }, operationQueue: .main)
    #expect(await outcomeOfStarting(composite).value as? [Int] == [1])
    #expect(seen.events == [true, true, true])
  }

  @Test("A composite on OperationQueue.main, started from the main actor, finishes")
  @MainActor
  func main_startedFromMainActor_finishes() async throws {
    let composite = CompositeOperation(operations: [Doubling(1), AsyncOperation { 3 }], operationQueue: .main)
    composite.start()
    #expect(await settled(composite).value as? [Int] == [2, 3])
    let again = CompositeOperation(operations: [Doubling(1)], operationQueue: .main)
    #expect(try await again.run() as? [Int] == [2])
  }

  @Test("Nested composites that all name OperationQueue.main finish")
  func main_nested_finishes() async {
    let leaf = { (value: Int) in succeeding(value) }
    let composite = CompositeOperation(
      operations: [
        CompositeOperation(operations: [leaf(1), leaf(2)], operationQueue: .main),
        CompositeOperation(sequence: LinearSequence({ _ in succeeding(3) }), operationQueue: .main),
      ], operationQueue: .main)
    #expect(await outcomeOfStarting(composite).value?.count == 2)
    let inQueue = CompositeOperation(
      operations: [CompositeOperation(operations: [leaf(1)], operationQueue: .main)], operationQueue: .main)
    OperationQueue.main.addOperation(inQueue)
    #expect(await settled(inQueue).value?.count == 1)
  }

  @Test("Other work of the main queue comes in between the leaves")
  func main_betweenLeaves_letsOthersIn() async {
    let leafCount = Locked(0)
    let countAtStart = Locked<Int?>(nil)
    let other = BlockOperation { countAtStart.withLock { $0 = leafCount.current } }
    let leaves = (0..<500).map { _ in
      SimpleOperation<Void> { operation in
        if leafCount.increment() == 5 { OperationQueue.main.addOperation(other) }
        operation.finish()
      }
    }
    let composite = CompositeOperation(operations: leaves, operationQueue: .main)
    #expect(await outcomeOfStarting(composite).value?.count == 500)
    await finished(other)
    #expect((countAtStart.current ?? .max) < 20)
  }
}

/// Whether the calling code runs in an operation of the main operation queue.
private func isOnMainQueue() -> Bool {
  OperationQueue.current === OperationQueue.main
}
