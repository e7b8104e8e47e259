import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// First come, first served: in the order in which they are started, or added.
@Suite("8 Mutual exclusion: order", .hangLimit)
struct ExclusionOrderTests {
  private static let count = 20
  private static let rounds = 40

  /// Lets `begin` start or add operations while another holds their category, which it gives back
  /// when this many wait.
  private func order(whenWaiting count: Int?, _ begin: @escaping @Sendable ([SimpleOperation<Int>]) -> Void) async
    -> [Int]
  {
    let (registry, recorder) = (ExclusionRegistry(), EventRecorder<Int>())
    let holder = HeldOperation<Int>()
    let first = holder.exclusive("x", in: registry)
    await onWorker { first.start() }
    await holder.started.wait()
    let operations = (0..<ExclusionOrderTests.count).map { number in
      SimpleOperation<Int> {
        recorder.record(number)
        return number
      }.exclusive("x", in: registry)
    }
    await onWorker { begin(operations) }
    if let count { #expect(await registry.reaches(waiting: count)) }
    holder.finish(with: 1)
    for operation in operations { #expect(await settled(operation).value != nil) }
    return recorder.events
  }

  @Test("8 The order of start()") func start_whileHeld_runsInOrder() async {
    for _ in 0..<ExclusionOrderTests.rounds {
      let order = await order(whenWaiting: nil) { operations in for operation in operations { operation.start() } }
      #expect(order == Array(0..<ExclusionOrderTests.count))
    }
  }

  @Test("8 The order of adding to a queue, of those that it has started")
  func addToQueue_whileHeld_runsInOrder() async {
    for _ in 0..<ExclusionOrderTests.rounds {
      let queue = OperationQueue(limit: ExclusionOrderTests.count)
      let order = await order(whenWaiting: ExclusionOrderTests.count) { operations in queue.add(operations) }
      #expect(order == Array(0..<ExclusionOrderTests.count))
    }
  }

  @Test("8 Reading isReady gives an operation no place", arguments: [false, true])
  func isReady_readBeforeTheStart_givesNoPlace(inComposite: Bool) async {
    let order = await order(whenWaiting: ExclusionOrderTests.count) { operations in
      for operation in operations.reversed() { _ = operation.isReady }
      if inComposite { return CompositeOperation(operations: operations).start() }
      for operation in operations { operation.start() }
    }
    #expect(order == Array(0..<ExclusionOrderTests.count))
  }

  // On Apple platforms, reading isReady is the only sign that an operation was added.
  #if !canImport(Darwin)
  @Test("8 Nor does it give a place to one that is added to a queue later")
  func isReady_readBeforeAdding_givesNoPlace() async {
    let queue = OperationQueue(limit: ExclusionOrderTests.count)
    let order = await order(whenWaiting: ExclusionOrderTests.count) { operations in
      for operation in operations.reversed() { _ = operation.isReady }
      queue.add(operations)
      for operation in operations.reversed() { _ = operation.isReady }
    }
    #expect(order == Array(0..<ExclusionOrderTests.count))
  }
  #endif

  @Test("8 The order of the children of a composite, of all and of forEach", arguments: 0...2)
  func startComposite_whileHeld_runsChildrenInOrder(form: Int) async {
    for _ in 0..<ExclusionOrderTests.rounds {
      let order = await order(whenWaiting: ExclusionOrderTests.count) { operations in
        switch form {
        case 0: CompositeOperation(operations: operations).start()
        case 1: all(operations).start()
        default: forEach(operations, maxConcurrent: ExclusionOrderTests.count) { $0 }.start()
        }
      }
      #expect(order == Array(0..<ExclusionOrderTests.count))
    }
  }

  @Test("8 An operation that was added earlier and arrives later goes before those that wait")
  func addedEarlier_startedLater_goesAhead() async {
    let (registry, recorder) = (ExclusionRegistry(), EventRecorder<String>())
    let holder = HeldOperation<Int>()
    let first = holder.exclusive("x", in: registry)
    await onWorker { first.start() }
    await holder.started.wait()
    let queue = OperationQueue(limit: 1, suspended: true)
    let added = succeeding(1, named: "added", recorder: recorder).exclusive("x", in: registry)
    queue.add([added])
    let started = succeeding(2, named: "started", recorder: recorder).exclusive("x", in: registry)
    await onWorker { started.start() }
    #expect(registry.waitingCount == 1)
    queue.isSuspended = false
    #expect(await registry.reaches(waiting: 2))
    holder.finish(with: 1)
    for operation in [added, started] { #expect(await settled(operation).value != nil) }
    #expect(recorder.events == ["added", "started"])
  }

  @Test("8 An operation that waits for a dependency takes its place when that has finished")
  func start_withUnmetDependency_holdsNobodyBack() async {
    let registry = ExclusionRegistry()
    let dependency = HeldOperation<Int>()
    let later = succeeding(1)
    later.addDependency(dependency)
    let waiting = later.exclusive("x", in: registry)
    await onWorker { waiting.start() }
    #expect(await outcomeOfStarting(succeeding(2).exclusive("x", in: registry)).value == 2)
    await onWorker { dependency.start() }
    dependency.finish(with: 0)
    #expect(await settled(waiting).value == 1)
    #expect(await registry.reaches(isUnused: true))
  }
}
