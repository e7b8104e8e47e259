import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// Observing operations of types outside the package.
@Suite("3.2 ForeignOperations", .hangLimit)
struct ForeignOperationsTests {
  /// Records its calls.
  private final class Observer: SettlementObserver {
    let tags = EventRecorder<Int>()
    /// Whether each operation had finished when this was called.
    let sawFinished = EventRecorder<Bool>()

    func operationDidSettle(_ operation: Operation, tag: Int) {
      sawFinished.record(operation.isFinished)
      tags.record(tag)
    }
  }

  /// How many operations wait for this one to finish, found by reflection on Linux.
  private func dependentCount(of operation: Operation) throws -> Int {
    var mirror: Mirror? = Mirror(reflecting: operation)
    while let current = mirror, current.subjectType != Operation.self { mirror = current.superclassMirror }
    let child = try #require(mirror?.children.first { $0.label == "__downDependencies" })
    return Mirror(reflecting: child.value).children.count
  }

  @Test("A synchronous operation is reported once, with the tag, when it has finished")
  func finish_observedBlock_tellsOnce() async {
    let observer = Observer()
    let block = BlockOperation()
    ForeignOperations.observe(block, observer, tag: 7)
    #expect(observer.tags.events == [])
    block.start()
    await observer.tags.wait(forCount: 1)
    await finished(block)
    #expect(observer.tags.events == [7])
    #expect(observer.sawFinished.events == [true])
  }

  @Test("An operation that has already finished is reported too")
  func observe_finished_tells() async {
    let observer = Observer()
    let block = BlockOperation()
    block.start()
    ForeignOperations.observe(block, observer, tag: 3)
    await observer.tags.wait(for: 3)
    #expect(observer.tags.events == [3])
  }

  @Test("An operation that is cancelled before it starts is reported when it has finished, not before")
  func cancel_unstarted_tellsWhenFinished() async {
    let observer = Observer()
    let operation = AsyncPlainOperation()
    ForeignOperations.observe(operation, observer)
    operation.cancel()
    #expect(observer.tags.events == [])
    operation.start()
    await observer.tags.wait(forCount: 1)
    #expect(observer.sawFinished.events == [true])
  }

  @Test("Several observers of one operation share one watcher, and each is called")
  func observe_fiveTimes_sharesOneWatcher() async throws {
    let observers = (0..<4).map { _ in Observer() }
    let operation = AsyncPlainOperation()
    for (tag, observer) in observers.enumerated() { ForeignOperations.observe(operation, observer, tag: tag) }
    ForeignOperations.observe(operation, observers[0], tag: 9)
    #if !canImport(Darwin)
    #expect(try dependentCount(of: operation) == 1)
    #endif
    operation.start()
    operation.complete()
    await observers[0].tags.wait(forCount: 2)
    for (tag, observer) in observers.enumerated() { await observer.tags.wait(for: tag) }
    await finished(operation)
    #expect(observers[0].tags.events == [0, 9])
    #expect(observers.dropFirst().map(\.tags.events) == [[1], [2], [3]])
  }

  @Test("After an operation was reported it can be observed again")
  func observe_afterBeingTold_tellsAgain() async {
    let observer = Observer()
    let block = BlockOperation()
    ForeignOperations.observe(block, observer, tag: 1)
    block.start()
    await observer.tags.wait(for: 1)
    ForeignOperations.observe(block, observer, tag: 2)
    await observer.tags.wait(for: 2)
    #expect(observer.tags.events == [1, 2])
  }

  @Test("An observer that stops is not called; the others are")
  func stopObserving_oneOfTwo_leavesTheOther() async throws {
    let (leaving, staying) = (Observer(), Observer())
    let operation = AsyncPlainOperation()
    ForeignOperations.observe(operation, leaving, tag: 1)
    ForeignOperations.observe(operation, staying, tag: 2)
    ForeignOperations.observe(operation, leaving, tag: 3)
    ForeignOperations.stopObserving(operation, leaving)
    operation.start()
    operation.complete()
    await staying.tags.wait(for: 2)
    await finished(operation)
    #expect(leaving.tags.events == [])
    #expect(staying.tags.events == [2])
  }

  @Test("Stopping an observation that never began, or twice, does nothing")
  func stopObserving_notObserving_isIgnored() async {
    let (observer, other) = (Observer(), Observer())
    let operation = BlockOperation()
    ForeignOperations.stopObserving(operation, observer)
    ForeignOperations.observe(operation, other, tag: 1)
    ForeignOperations.stopObserving(operation, observer)
    ForeignOperations.stopObserving(operation, observer)
    operation.start()
    await other.tags.wait(for: 1)
    #expect(observer.tags.events == [])
  }

  @Test("When the last observer stops, an operation that never finishes is released, and its observers are")
  func stopObserving_last_releasesOperationAndObservers() async {
    let released = Gate()
    var references: [WeakReference<Observer>] = []
    do {
      let probe = ReleaseProbe(released)
      let operation = BlockOperation { probe.touch() }
      let observers = [Observer(), Observer()]
      references = observers.map(WeakReference.init)
      for observer in observers { ForeignOperations.observe(operation, observer) }
      for observer in observers { ForeignOperations.stopObserving(operation, observer) }
    }
    await released.wait()
    for reference in references { await untilReleased(reference) }
  }

  @Test("Once reported, neither the operation nor its observer is kept")
  func told_releasesOperationAndObserver() async {
    let released = Gate()
    let reference: WeakReference<Observer>
    do {
      let probe = ReleaseProbe(released)
      let operation = AsyncPlainOperation { _ in probe.touch() }
      let observer = Observer()
      reference = WeakReference(observer)
      ForeignOperations.observe(operation, observer)
      operation.start()
      operation.complete()
      await observer.tags.wait(forCount: 1)
    }
    await released.wait()
    await untilReleased(reference)
  }

  @Test("A thousand operations that finish on several threads are each reported once")
  func finish_thousand_tellsEachOnce() async {
    let observer = Observer()
    let operations = (0..<1000).map { _ in AsyncPlainOperation() }
    for (tag, operation) in operations.enumerated() { ForeignOperations.observe(operation, observer, tag: tag) }
    await withTaskGroup(of: Void.self) { group in
      for part in 0..<4 {
        group.addTask {
          await onWorker {
            for operation in operations[(part * 250)..<(part * 250 + 250)] {
              operation.start()
              operation.complete()
            }
          }
        }
      }
    }
    await observer.tags.wait(forCount: 1000)
    #expect(observer.tags.events.sorted() == Array(0..<1000))
    #expect(!observer.sawFinished.contains(false))
  }

  @Test("An observer that stops while the operation finishes is called once or not at all; the other once")
  func stopObserving_whileFinishing_tellsTheOther() async {
    for _ in 0..<300 {
      let (leaving, staying) = (Observer(), Observer())
      let operation = AsyncPlainOperation()
      operation.start()
      ForeignOperations.observe(operation, leaving)
      ForeignOperations.observe(operation, staying)
      async let completing: Void = onWorker { operation.complete() }
      async let stopping: Void = onWorker { ForeignOperations.stopObserving(operation, leaving) }
      _ = await (completing, stopping)
      await staying.tags.wait(forCount: 1)
      await finished(operation)
      guard leaving.tags.count <= 1, staying.tags.count == 1 else {
        Issue.record("told \(leaving.tags.count) and \(staying.tags.count) times")
        return
      }
    }
  }
}
