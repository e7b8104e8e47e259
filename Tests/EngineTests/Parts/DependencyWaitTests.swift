import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// Waiting for the unfinished dependencies of an operation, own ones and foreign ones.
@Suite("3.2 DependencyWait", .hangLimit)
struct DependencyWaitTests {
  // Kept forever: on Linux a finishing dependency follows pointers to its dependents, dead or
  // alive.
  private static let dependents = Locked<[Operation]>([])

  private func dependent(on dependencies: Operation...) -> Operation {
    let operation = SimpleOperation<Void> { $0.finish() }
    for dependency in dependencies { operation.addDependency(dependency) }
    DependencyWaitTests.dependents.withLock { $0.append(operation) }
    return operation
  }

  private func ended() -> SimpleOperation<Int> {
    let operation = SimpleOperation<Int>()
    operation.finish(with: 1)
    return operation
  }

  @Test("Only an unfinished dependency has to be waited for")
  func isNeeded_dependsOnUnfinishedOnes() {
    let unfinished = SimpleOperation<Int>()
    let plain = BlockOperation()
    #expect(!DependencyWait.isNeeded(for: dependent()))
    #expect(!DependencyWait.isNeeded(for: dependent(on: ended())))
    #expect(DependencyWait.isNeeded(for: dependent(on: ended(), unfinished)))
    #expect(DependencyWait.isNeeded(for: dependent(on: plain)))
    unfinished.reject(with: TestError.first)
    plain.start()
    #expect(!DependencyWait.isNeeded(for: dependent(on: unfinished, plain)))
  }

  @Test("Dependencies are released when the wait is over")
  func met_releasesTheDependencies() {
    var dependency: SimpleOperation<Int>? = SimpleOperation<Int>()
    let reference = WeakReference(dependency!)
    let dependent = dependent(on: dependency!)
    let wait = DependencyWait(for: dependent) {}
    wait.begin()
    dependency!.finish(with: 1)
    dependent.removeDependency(dependency!)
    dependency = nil
    #expect(reference.object == nil)
    withExtendedLifetime(wait) {}
  }

  @Test("What a waiting operation was to do is released outside its lock")
  func waitsOfAnOperation_replaced_areReleasedOutsideItsLock() {
    let operation = SimpleOperation<Int>()
    let calls = Locked(0)
    func action() -> @Sendable () -> Void {
      let last = ReleaseAction { [weak operation] in
        // Takes the lock.
        if operation?.onCancel == nil { calls.increment() }
      }
      return { withExtendedLifetime(last) {} }
    }
    for set in [operation.setWhenDecidedUnstarted, operation.setWhenNothingIsAwaited] {
      set(action())
      set {}
    }
    #expect(calls.current == 2)
  }

  /// Calls a closure when it is released.
  private final class ReleaseAction: Sendable {
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    deinit { body() }
  }

  @Test("With nothing to wait for it is met at once, by begin(), once")
  func begin_nothingUnfinished_isMetAtOnce() {
    for operation in [dependent(), dependent(on: ended(), ended())] {
      let calls = Locked(0)
      let wait = DependencyWait(for: operation) { calls.increment() }
      #expect(calls.current == 0)
      wait.begin()
      #expect(calls.current == 1)
    }
  }

  @Test("Dependencies that finish between the making and begin() count")
  func begin_finishedInBetween_isMetAtOnce() {
    let calls = Locked(0)
    let (first, second) = (SimpleOperation<Int>(), SimpleOperation<Int>())
    let wait = DependencyWait(for: dependent(on: first, second)) { calls.increment() }
    first.finish(with: 1)
    second.cancel()
    second.start()
    wait.begin()
    #expect(calls.current == 1)
  }

  @Test("Own dependencies: met once, by the last, on its thread, however each ended")
  func lastOwnDependency_settles_meetsOnItsThread() {
    let calls = Locked(0)
    let dependencies = (0..<3).map { _ in SimpleOperation<Int>() }
    let wait = DependencyWait(for: dependent(on: dependencies[0], dependencies[1], dependencies[2])) {
      calls.increment()
    }
    wait.begin()
    dependencies[1].finish(with: 1)
    dependencies[0].reject(with: TestError.first)
    #expect(calls.current == 0)
    dependencies[2].settle(with: .cancelled)
    #expect(calls.current == 1)
  }

  @Test("Foreign dependencies: met once, when the last has finished")
  func lastForeignDependency_finishes_meets() async {
    let calls = Locked(0)
    let met = Gate()
    let (block, asynchronous) = (BlockOperation(), AsyncPlainOperation())
    let own = SimpleOperation<Int>()
    let wait = DependencyWait(for: dependent(on: block, asynchronous, own)) {
      calls.increment()
      met.open()
    }
    wait.begin()
    block.start()
    own.finish(with: 1)
    await finished(block)
    #expect(calls.current == 0)
    asynchronous.start()
    asynchronous.complete()
    await met.wait()
    await finished(asynchronous)
    #expect(calls.current == 1)
  }

  @Test("A dependency of several operations notifies each")
  func oneDependency_ofThree_meetsEach() {
    let dependency = SimpleOperation<Int>()
    let calls = EventRecorder<Int>()
    let waits = (0..<3).map { number in
      DependencyWait(for: dependent(on: dependency)) { calls.record(number) }
    }
    for wait in waits { wait.begin() }
    dependency.finish(with: 1)
    #expect(calls.events.sorted() == [0, 1, 2])
  }

  @Test("Cancelled before or after begin() it is never met, and releases its closure")
  func cancel_beforeOrAfterBegin_isNeverMet() async {
    for beginsFirst in [false, true] {
      let calls = Locked(0)
      let released = Gate()
      let dependency = SimpleOperation<Int>()
      let wait = makeWait(for: dependent(on: dependency), calls, ReleaseProbe(released))
      if beginsFirst { wait.begin() }
      #expect(!released.isOpen)
      wait.cancel()
      #expect(released.isOpen)
      if !beginsFirst { wait.begin() }
      dependency.finish(with: 1)
      #expect(calls.current == 0)
    }
  }

  private func makeWait(for operation: Operation, _ calls: Locked<Int>, _ probe: ReleaseProbe) -> DependencyWait {
    DependencyWait(for: operation) {
      probe.touch()
      calls.increment()
    }
  }

  @Test("Once met it releases its closure")
  func met_releasesClosure() {
    let released = Gate()
    let dependency = SimpleOperation<Int>()
    let wait = makeWait(for: dependent(on: dependency), Locked(0), ReleaseProbe(released))
    wait.begin()
    #expect(!released.isOpen)
    dependency.finish(with: 1)
    #expect(released.isOpen)
    wait.cancel()
  }

  @Test("After a cancel, a dependency that never finishes is released", arguments: [true, false])
  func cancel_dependencyNeverFinishes_isReleased(isOwn: Bool) async {
    let released = Gate()
    do {
      let probe = ReleaseProbe(released)
      let dependency: Operation = isOwn ? SimpleOperation<Int>() : BlockOperation()
      dependency.completionBlock = { probe.touch() }
      let operation = dependent(on: dependency)
      let wait = DependencyWait(for: operation) {}
      wait.begin()
      wait.cancel()
      operation.leaveDependencies()
    }
    await released.wait()
  }

  @Test("Dependencies that race with each other and with a cancel meet it at most once; without the cancel, once")
  func lastDependency_racing_meetsOnce() async {
    var complaints: [String] = []
    for round in 0..<400 {
      let isCancelled = round % 2 == 0
      let dependencies = (0..<3).map { _ in SimpleOperation<Int>() }
      let calls = Locked(0)
      let operation = dependent(on: dependencies[0], dependencies[1], dependencies[2])
      let wait = DependencyWait(for: operation) { calls.increment() }
      await withTaskGroup(of: Void.self) { group in
        group.addTask { await onWorker { wait.begin() } }
        if isCancelled { group.addTask { await onWorker { wait.cancel() } } }
        for dependency in dependencies { group.addTask { _ = await onWorker { dependency.finish(with: 1) } } }
      }
      let count = calls.current
      if isCancelled ? count > 1 : count != 1 { complaints.append("round \(round): met \(count) times") }
    }
    #expect(complaints == [])
  }
}
