import CompositeOperations
import Foundation
import TestSupport
import Testing

/// Composites that are cancelled, suspended and limited while their children run.
@Suite(.serialized)
struct CompositeRaceTests {
  /// The operations that contain others, each made of leaves.
  enum Form: CaseIterable {
    case parallel, parallelWaitingForAll, sequential, nested, then, map, zip, all, firstSuccess, forEach

    /// How many leaves run if all succeed.
    fileprivate var leafCounts: ClosedRange<Int> {
      switch self {
      case .parallel, .parallelWaitingForAll, .forEach: 4...4
      case .sequential, .all: 3...3
      case .nested: 8...8
      case .then, .zip: 2...2
      case .map: 1...1
      case .firstSuccess: 1...3
      }
    }

    fileprivate func make(_ leaf: @escaping @Sendable () -> SimpleOperation<Int>) -> any ComposableOperation {
      switch self {
      case .parallel: return CompositeOperation(operations: (0..<4).map { _ in leaf() })
      case .parallelWaitingForAll:
        let composite = CompositeOperation(operations: (0..<4).map { _ in leaf() })
        composite.failurePolicy = .waitForAll
        return composite
      case .sequential:
        return CompositeOperation(sequence: LinearSequence(steps: Array(repeating: { _ in leaf() }, count: 3)))
      case .nested:
        return CompositeOperation(operations: [Form.parallel.make(leaf), Form.sequential.make(leaf), leaf()])
      case .then: return leaf().then { _ in leaf() }
      case .map: return leaf().map { $0 + 1 }
      case .zip: return CompositeOperations.zip(leaf(), leaf())
      case .all: return CompositeOperations.all([leaf(), leaf(), leaf()], maxConcurrent: 2)
      case .firstSuccess: return CompositeOperations.firstSuccess(of: [leaf(), leaf(), leaf()])
      case .forEach: return CompositeOperations.forEach(0..<4, maxConcurrent: 2) { _ in leaf() }
      }
    }
  }

  @Test(arguments: Form.allCases)
  func cancel_whileChildrenFinish_settlesOnce(form: Form) async {
    let all = Locked<[(any ComposableOperation, Locked<Int>, Locked<[SimpleOperation<Int>]>)]>([])
    let complaints = await Race.run(rounds: Scale.count(1_500, least: 50), threads: 2) { _, random in
      let leaves = Locked<[SimpleOperation<Int>]>([])
      let hops = random.chance(50)
      let operation = form.make {
        let leaf = SimpleOperation<Int> { operation in
          if hops { DispatchQueue.global().async { operation.finish(with: 1) } } else { operation.finish(with: 1) }
        }
        leaves.withLock { $0.append(leaf) }
        return leaf
      }
      let completions = Locked(0)
      CompositeRaceTests.count(completions, of: operation)
      all.withLock { $0.append((operation, completions, leaves)) }
      let startsEarly = random.chance(50)
      if startsEarly { operation.start() }
      return Race.Round(bodies: [{ operation.start() }, { operation.cancel() }]) { nil }
    }
    #expect(complaints.isEmpty)
    for (operation, completions, leaves) in all.current {
      await finished(operation)
      let outcome = operation.anyOutcome
      #expect(outcome != nil && outcome?.isCancelled == operation.isCancelled && completions.current == 1)
      let slots = (operation as? CompositeOperation)?.childOutcomes
      #expect(slots?.contains { $0 == nil } != true)
      #expect(leaves.current.allSatisfy { $0.isFinished })
    }
  }

  private static func count(_ completions: Locked<Int>, of operation: any ComposableOperation) {
    func count<Value>(_ operation: SimpleOperation<Value>) { operation.completion = { _ in completions.increment() } }
    switch operation {
    case let operation as CompositeOperation: operation.completion = { _ in completions.increment() }
    case let operation as SimpleOperation<Int>: count(operation)
    case let operation as SimpleOperation<[Int]>: count(operation)
    case let operation as SimpleOperation<(Int, Int)>: count(operation)
    default: Issue.record("\(type(of: operation)) has no completion")
    }
  }

  /// Other code starts a child composition when the composition around it does.
  @Test(arguments: Form.allCases, [false, true])
  func start_ofChildByOtherCode_runsItOnce(form: Form, hasQueue: Bool) async {
    let complaints = await Race.run(rounds: Scale.count(800, least: 50), threads: 2) { _, _ in
      let runs = Locked(0)
      let inner = form.make {
        SimpleOperation {
          runs.increment()
          return 1
        }
      }
      let queue = hasQueue ? OperationQueue(limit: 2) : nil
      let outer = CompositeOperation(operations: [inner, SimpleOperation { 1 }], operationQueue: queue)
      return Race.Round(bodies: [{ outer.start() }, { inner.start() }]) {
        inner.waitUntilFinished()
        outer.waitUntilFinished()
        let code = ((outer.error as? CompositeError)?.failures.first?.error as? OperationError)?.code
        return complaint(
          "\(outer), \(inner), \(runs.current) runs",
          unless: inner.anyOutcome?.value != nil && form.leafCounts.contains(runs.current)
            && (outer.result?.count == 2 || code == .alreadyInUse))
      }
    }
    #expect(complaints.isEmpty)
  }

  #if !canImport(Darwin)
  /// Apple's Foundation rejects an operation that executes.
  @Test func addToQueue_whileItsCompositionStartsIt_finishesInTheQueue() async {
    let complaints = await Race.run(rounds: Scale.count(8_000, least: 200), threads: 2) { _, _ in
      let (first, child) = (HeldOperation<Int>(), HeldOperation<Int>())
      let queue = OperationQueue(limit: 1, suspended: true)
      let composite = CompositeOperation(operations: [first, child])
      composite.maxConcurrentOperationCount = 1
      composite.start()
      while !first.started.isOpen { sched_yield() }
      return Race.Round(bodies: [{ first.finish(with: 1) }, { queue.addOperation(child) }]) {
        child.finish(with: 5)
        let wasFinished = child.isFinished
        queue.isSuspended = false
        composite.waitUntilFinished()
        queue.waitUntilAllOperationsAreFinished()
        return complaint("\(composite), \(child)", unless: !wasFinished && child.isFinished)
      }
    }
    #expect(complaints.isEmpty)
  }
  #endif

  @Test func start_fromFourThreads_runsEachChildOnce() async {
    let all = Locked<[(CompositeOperation, Locked<Int>)]>([])
    _ = await Race.run(rounds: Scale.count(4_000, least: 50), threads: 4) { _, _ in
      let bodies = Locked(0)
      let composite = CompositeOperation(
        operations: (0..<3).map { _ in
          SimpleOperation<Void> { operation in
            bodies.increment()
            operation.finish()
          }
        })
      all.withLock { $0.append((composite, bodies)) }
      return Race.Round(bodies: Array(repeating: { composite.start() }, count: 4)) { nil }
    }
    for (composite, bodies) in all.current {
      let count = await settled(composite).value?.count
      #expect(count == 3 && bodies.current == 3)
    }
  }

  @Test func foreignDependency_finishingWhileCompositeStarts_isSeen() async {
    let all = Locked<[CompositeOperation]>([])
    _ = await Race.run(rounds: Scale.count(4_000, least: 50), threads: 2) { _, random in
      let dependency = random.chance(50) ? BlockOperation {} : SimpleOperation<Void> { $0.finish() }
      let dependent = SimpleOperation<Bool> { [unowned dependency] in $0.finish(with: dependency.isFinished) }
      dependent.addDependency(dependency)
      let composite = CompositeOperation(operations: [dependent, BlockOperation {}])
      all.withLock { $0.append(composite) }
      return Race.Round(bodies: [{ composite.start() }, { dependency.start() }]) { nil }
    }
    for composite in all.current {
      let outcome = await settled(composite)
      #expect(outcome.value?.first as? Bool == true)
    }
  }

  @Test(arguments: [false, true])
  func limitAndSuspension_changedWhileRunning_neverExceedTheLargestLimit(onQueue: Bool) async {
    for round in 0..<Scale.count(60, least: 5) {
      let gauge = ConcurrencyGauge()
      let queue = OperationQueue()
      queue.maxConcurrentOperationCount = 2
      let leaves = (0..<60).map { number in
        SimpleOperation<Int> { operation in
          gauge.enter()
          DispatchQueue.global().async {
            gauge.leave()
            operation.finish(with: number)
          }
        }
      }
      // On a queue: nested composites that share it, so that the leaves come from several places.
      let composite =
        onQueue
        ? CompositeOperation(
          operations: (0..<4).map { part in
            CompositeOperation(operations: Array(leaves[part * 15..<part * 15 + 15]), operationQueue: queue)
          }, operationQueue: queue)
        : CompositeOperation(operations: leaves)
      if !onQueue { composite.maxConcurrentOperationCount = 2 }
      let changer = Task.detached {
        var random = SeededRandomNumberGenerator(seed: UInt64(round))
        while !composite.isFinished {
          let limit = random.number(1...4)
          let isSuspended = random.chance(40)
          if onQueue {
            queue.maxConcurrentOperationCount = limit
          } else {
            composite.maxConcurrentOperationCount = limit
          }
          if onQueue, random.chance(50) { queue.isSuspended = isSuspended } else { composite.isSuspended = isSuspended }
          await onWorker {}
          queue.isSuspended = false
          composite.isSuspended = false
        }
      }
      composite.start()
      let outcome = await settled(composite)
      await changer.value
      #expect(gauge.maximum <= 4 && gauge.total == 60)
      #expect(outcome.value?.count == (onQueue ? 4 : 60))
    }
  }

  @Test func cancelAllOperations_whileTheLimitIsSet_reachesAllThatWait() async {
    let complaints = await Race.run(rounds: Scale.count(20_000, least: 1_000), threads: 2) { _, _ in
      let queue = OperationQueue(limit: 1, suspended: true)
      let leaves = (0..<4).map { succeeding($0) }
      let composite = CompositeOperation(operations: leaves, operationQueue: queue)
      composite.start()
      return Race.Round(bodies: [{ queue.cancelAllOperations() }, { composite.maxConcurrentOperationCount = 2 }]) {
        defer {
          composite.cancel()
          queue.isSuspended = false
        }
        return leaves.allSatisfy(\.isCancelled) ? nil : "The cancel was lost"
      }
    }
    #expect(complaints.isEmpty)
  }
}
