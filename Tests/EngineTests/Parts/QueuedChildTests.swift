import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// Other code adds an operation to a queue although a composition has adopted it. The operation
/// never finishes behind the back of that queue.
@Suite("3.2 Children that other code adds to a queue", .hangLimit)
struct QueuedChildTests {
  enum Form: CaseIterable {
    case parallel, limited, waitingForAll, withQueue, sequence, sequenceWithQueue
    case then, map, mapAsync, settled, nested, zip, all, allSettled, firstSuccess, forEach, timeout, exclusive, limit

    /// Whether it waits for an operation that other code runs; if not, it fails.
    var waits: Bool {
      switch self {
      case .parallel, .limited, .waitingForAll, .withQueue, .sequence, .sequenceWithQueue: false
      default: true
      }
    }

    func make<O: ComposableOperation<Int>>(_ child: O) -> any ComposableOperation {
      switch self {
      case .parallel: return CompositeOperation(operations: [child])
      case .limited:
        let composite = CompositeOperation(operations: [SimpleOperation { 1 }, child])
        composite.maxConcurrentOperationCount = 1
        return composite
      case .waitingForAll:
        let composite = CompositeOperation(operations: [child, SimpleOperation { 1 }])
        composite.failurePolicy = .waitForAll
        return composite
      case .withQueue: return CompositeOperation(operations: [child], operationQueue: OperationQueue(limit: 1))
      case .sequence: return CompositeOperation(sequence: ListSequence([child]))
      case .sequenceWithQueue:
        return CompositeOperation(sequence: ListSequence([child]), operationQueue: OperationQueue(limit: 1))
      case .then: return child.then { value in SimpleOperation { value } }
      case .map: return child.map { $0 }
      case .mapAsync: return child.mapAsync { $0 }
      case .settled: return child.settled()
      case .nested: return CompositeOperation(operations: [child.map { $0 }])
      case .zip: return CompositeOperations.zip(child, SimpleOperation { 1 })
      case .all: return CompositeOperations.all([child])
      case .allSettled: return CompositeOperations.allSettled([child], maxConcurrent: 1)
      case .firstSuccess: return CompositeOperations.firstSuccess(of: [child])
      case .forEach: return CompositeOperations.forEach([0], maxConcurrent: 1) { _ in child }
      case .timeout: return child.timeout(.seconds(1), clock: ManualClock())
      case .exclusive: return child.exclusive("x", in: ExclusionRegistry())
      case .limit: return child.limited(by: SharedLimit(maxConcurrent: 1))
      }
    }
  }

  /// The child of a composition, which waits for a dependency.
  private struct Scene<Child: ComposableOperation<Int>> {
    let dependency = HeldOperation<Int>()
    let queue: OperationQueue
    let child: Child
    let operation: any ComposableOperation

    /// Starts the composition, and adds the child to a queue once the composition has adopted it.
    init(_ form: Form, _ child: Child, isSuspended: Bool = true) async {
      queue = OperationQueue(limit: 1, suspended: isSuspended)
      self.child = child
      let operation = form.make(child)
      self.operation = operation
      child.addDependency(dependency)
      dependency.start()
      await onWorker { operation.start() }
      // The composition waits for the dependency of its child.
      await until(dependency.state.current.has(.hasListeners))
      queue.add([child])
    }

    /// Returns when the child and the composition have finished, and the queue is empty.
    func untilOver() async {
      await finished(child)
      await finished(operation)
      await onWorker { [queue] in queue.waitUntilAllOperationsAreFinished() }
      // The queue may be used further: it holds no pointer to what has gone.
      #expect(try! await queue.run(succeeding(7)) == 7)
    }
  }

  private func recordingChild(_ recorder: EventRecorder<OperationQueue?>) -> SimpleOperation<Int> {
    SimpleOperation {
      recorder.record(OperationQueue.current)
      return 5
    }
  }

  private func isRefusal(_ outcome: Outcome<any Sendable>?) -> Bool {
    let errors = (outcome?.error as? CompositeError)?.failures.map(\.error)
    return errors?.count == 1 && (errors?[0] as? OperationError)?.code == .alreadyInUse
  }

  @Test(arguments: Form.allCases)
  func add_toSuspendedQueue_leavesTheChildToIt(form: Form) async {
    let recorder = EventRecorder<OperationQueue?>()
    let scene = await Scene(form, recordingChild(recorder))
    scene.dependency.finish(with: 1)
    if form.waits {
      // By now the child would have been started: another one, with the same dependency, has been.
      let other = succeeding(1)
      other.addDependency(scene.dependency)
      await finished(form.make(other).starting())
    } else {
      await finished(scene.operation)
      #expect(isRefusal(scene.operation.anyOutcome))
    }
    #expect(scene.child.outcome == nil && !scene.child.isFinished && !scene.child.isCancelled)
    scene.queue.isSuspended = false
    await scene.untilOver()
    #expect(scene.child.outcome?.value == 5)
    #expect(recorder.events == [scene.queue])
    #expect((scene.operation.anyOutcome?.value != nil) == form.waits)
  }

  @Test(arguments: Form.allCases)
  func add_toRunningQueue_runsTheChildOnce(form: Form) async {
    for _ in 0..<20 {
      let recorder = EventRecorder<OperationQueue?>()
      let scene = await Scene(form, recordingChild(recorder), isSuspended: false)
      scene.dependency.finish(with: 1)
      await scene.untilOver()
      #expect(scene.child.outcome?.value == 5)
      #expect(recorder.events.count == 1)
      // The queue may have started the child before the composition came to start it.
      #expect(scene.operation.anyOutcome?.value != nil || !form.waits && isRefusal(scene.operation.anyOutcome))
    }
  }

  @Test(arguments: Form.allCases, [false, true])
  func cancel_afterAdding_finishesTheChildInItsQueue(form: Form, isComposition: Bool) async {
    let recorder = EventRecorder<OperationQueue?>()
    let leaf = recordingChild(recorder)
    let scene = await Scene(form, isComposition ? leaf.map { $0 } : leaf)
    scene.operation.cancel()
    #expect(!scene.child.isFinished)
    scene.queue.isSuspended = false
    await scene.untilOver()
    #expect(scene.child.outcome?.isCancelled == true && scene.operation.anyOutcome?.isCancelled == true)
    #expect(recorder.events.isEmpty)
    scene.dependency.finish(with: 1)
  }

  @Test(arguments: Form.allCases)
  func settle_afterAdding_finishesTheChildInItsQueue(form: Form) async {
    let recorder = EventRecorder<OperationQueue?>()
    let scene = await Scene(form, recordingChild(recorder))
    scene.child.finish(with: 6)
    scene.dependency.finish(with: 1)
    #expect(scene.child.outcome?.value == 6 && !scene.child.isFinished)
    scene.queue.isSuspended = false
    await scene.untilOver()
    #expect(scene.operation.anyOutcome?.value != nil)
    #expect(recorder.events.isEmpty)
  }

  @Test func run_thenAddToQueue_waitsForTheQueue() async throws {
    let recorder = EventRecorder<OperationQueue?>()
    let (dependency, child, other) = (HeldOperation<Int>(), recordingChild(recorder), succeeding(1))
    let queue = OperationQueue(limit: 1, suspended: true)
    for operation in [child, other] { operation.addDependency(dependency) }
    dependency.start()
    async let value = child.run()
    await until(child.state.current.has(.hasListeners))
    queue.add([child])
    async let otherValue = other.run()
    await until(other.state.current.has(.hasListeners))
    dependency.finish(with: 1)
    #expect(try await otherValue == 1)
    #expect(child.outcome == nil && !child.isFinished)
    queue.isSuspended = false
    #expect(try await value == 5)
    #expect(recorder.events == [queue])
  }

  // Apple's Foundation rejects an operation that executes. What a plain operation's queue is, it
  // does not tell.
  #if !canImport(Darwin)
  @Test(arguments: Form.allCases, [false, true])
  func add_whileExecuting_finishesTheChildInItsQueue(form: Form, hasDependency: Bool) async {
    let (child, queue) = (HeldOperation<Int>(), OperationQueue(limit: 1, suspended: true))
    if hasDependency {
      let dependency = succeeding(1)
      child.addDependency(dependency)
      dependency.start()
    }
    let operation = form.make(child)
    await onWorker { operation.start() }
    await child.started.wait()
    queue.add([child])
    child.finish(with: 5)
    #expect(child.outcome?.value == 5 && !child.isFinished && operation.anyOutcome == nil)
    queue.isSuspended = false
    await finished(operation)
    #expect(child.isFinished && operation.anyOutcome?.value != nil)
    #expect(try! await queue.run(succeeding(7)) == 7)
  }

  @Test func add_whileExecutingAlone_finishesInTheQueue() async {
    let (operation, queue) = (HeldOperation<Int>(), OperationQueue(limit: 1, suspended: true))
    operation.start()
    queue.add([operation])
    operation.finish(with: 5)
    #expect(operation.outcome?.value == 5 && !operation.isFinished)
    queue.isSuspended = false
    #expect(await settled(operation).value == 5)
    #expect(try! await queue.run(succeeding(7)) == 7)
  }

  @Test(arguments: Form.allCases)
  func add_ofPlainChild_leavesTheChildToTheQueue(form: Form) async {
    let recorder = EventRecorder<OperationQueue?>()
    let child = ConformingOperation<Int> {
      recorder.record(OperationQueue.current)
      return .success(5)
    }
    let scene = await Scene(form, child)
    scene.dependency.finish(with: 1)
    if !form.waits {
      await finished(scene.operation)
      #expect(isRefusal(scene.operation.anyOutcome))
    }
    #expect(!child.isFinished && !child.isCancelled)
    scene.queue.isSuspended = false
    await scene.untilOver()
    #expect(recorder.events == [scene.queue])
    #expect((scene.operation.anyOutcome?.value != nil) == form.waits)
  }
  #endif
}

extension ComposableOperation {
  fileprivate func starting() -> Self {
    start()
    return self
  }
}
