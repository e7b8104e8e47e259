import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// A driven operation that is cancelled, and its `cancelAll()`.
@Suite("3.4 DrivenOperation: cancelling", .hangLimit)
struct DrivenCancelTests {
  @Test("Cancelled before it starts: the driver hears of the cancel once, and not of a start")
  func cancel_beforeStart_tellsDriver() async {
    let driver = RecordingDriver(whenCancelled: { _ in })
    driver.operation.cancel()
    #expect(driver.events.events == [])
    await driver.start()
    #expect(driver.events.events == [.cancelled])
    #expect(driver.operation.isExecuting)
    driver.operation.cancel()
    driver.operation.start()
    #expect(driver.operation.finish(with: 1) == false)
    #expect(driver.operation.outcome?.isCancelled == true)
    #expect(driver.events.events == [.cancelled])
  }

  @Test("Cancelled while it executes: the driver hears of it once, and it continues until the driver ends it")
  func cancel_whileExecuting_tellsDriver() async {
    let driver = RecordingDriver(whenCancelled: { _ in })
    await driver.start()
    driver.operation.cancel()
    driver.operation.cancel()
    #expect(driver.events.events == [.started, .cancelled])
    #expect(driver.operation.isExecuting && driver.operation.isCancelled)
    driver.operation.settle(with: .cancelled)
    driver.operation.cancel()
    #expect(driver.events.events == [.started, .cancelled])
    #expect(driver.operation.isFinished)
  }

  @Test("Cancelled in didStart, it ends when the made operations have settled; the other tags are forgotten")
  func cancel_inDidStart_settlesWhatWasMade() async {
    let operations = (0..<2).map { _ in HeldOperation<Int>(settlesWhenCancelled: true) }
    let driver = RecordingDriver(whenStarted: { driver in
      driver.run(operations)
      driver.operation.cancel()
    })
    await driver.start()
    #expect(await settled(driver.operation).isCancelled)
    #expect(driver.settledTags.sorted() == [0, 1].filter { operations[$0].isFinished })
    #expect(driver.settledTags.count == driver.madeCount)
    for operation in operations {
      if operation.isFinished {
        #expect(operation.outcome?.isCancelled == true)
      } else {
        #expect(!operation.started.isOpen)
      }
    }
    #expect(driver.events.count(of: .cancelled) == 1)
  }

  @Test("cancelAll cancels what runs, settles what waits for dependencies without running it, and forgets the rest")
  func cancelAll_someRunning_settlesWhatWasMade() async {
    let running = (0..<2).map { _ in HeldOperation<Int>(settlesWhenCancelled: true) }
    let recorder = EventRecorder<String>()
    let dependency = SimpleOperation<Int>()
    let waiting: [Operation] = [
      succeeding(1, named: "own", recorder: recorder), RecordingPlainOperation("plain", recorder: recorder),
      CompositeOperation(operations: [succeeding(1, named: "child", recorder: recorder)]),
      succeeding(1, named: "upstream", recorder: recorder).map { $0 },
    ]
    let parked = succeeding(1, named: "parked", recorder: recorder)
    parked.addDependency(dependency)
    let driver = RecordingDriver()
    await driver.start()
    driver.run(parked, tag: 0)
    driver.run(running[0], tag: 1)
    await running[0].started.wait()
    driver.operation.width = 2
    driver.run(running[1], tag: 2)
    await running[1].started.wait()
    for (number, operation) in waiting.enumerated() { driver.run(operation, tag: 3 + number) }
    driver.operation.cancel()
    #expect(await settled(driver.operation).isCancelled)
    #expect(driver.settledTags.sorted() == [0, 1, 2])
    #expect(running.allSatisfy { $0.cancelRequested.isOpen })
    #expect((running + [parked]).allSatisfy { $0.isFinished && $0.isCancelled })
    #expect(waiting.allSatisfy { !$0.isFinished && !$0.isCancelled })
    #expect(recorder.events == [])
  }

  @Test(
    "cancelAll reaches what has waited for its dependencies, while it is suspended and at the width",
    arguments: [true, false])
  func cancelAll_nothingMayStart_settlesWhatHasWaited(suspended: Bool) async {
    let dependency = SimpleOperation<Int>()
    let waiting = (0..<2).map { _ in HeldOperation<Int>() }
    for operation in waiting { operation.addDependency(dependency) }
    let held = HeldOperation<Int>()
    let driver = RecordingDriver()
    driver.operation.width = 1
    await driver.start()
    driver.run(waiting + [held])
    // It occupies the only place: the others wait for their dependency.
    await held.started.wait()
    driver.operation.isSuspended = suspended
    dependency.finish(with: 1)
    driver.operation.cancelAll()
    await driver.wait(forSettled: 2)
    held.finish(with: 1)
    await driver.wait(forSettled: 3)
    #expect(driver.settledTags.sorted() == [0, 1, 2])
    #expect(waiting.allSatisfy { $0.outcome?.isCancelled == true && !$0.started.isOpen })
    #expect(driver.operation.isExecuting)
    driver.operation.finish(with: 1)
  }

  @Test("cancelAll leaves operations alone that other code started or queued; the driver hears when they settle")
  func cancelAll_joined_leavesThem() async {
    let executing = HeldOperation<Int>()
    executing.start()
    let queue = OperationQueue(limit: 1, suspended: true)
    let queued = SimpleOperation<Int> { $0.finish(with: 2) }
    queue.addOperation(queued)
    let driver = RecordingDriver()
    await driver.start()
    driver.run([executing, queued, succeeding(1)])
    await driver.wait(forSettled: 1)
    for operation in [executing, queued] { await Patience.untilAwaited(operation) }
    driver.operation.cancelAll()
    await settleDown()
    #expect(!executing.isCancelled && !queued.isCancelled)
    executing.finish(with: 1)
    queue.isSuspended = false
    await driver.wait(forSettled: 3)
    #expect(executing.result == 1 && queued.result == 2)
    driver.operation.finish(with: 1)
  }

  @Test("An operation that a worker has claimed and not started yet is cancelled too")
  func cancelAll_justClaimed_cancels() async {
    let driver = RecordingDriver()
    await driver.start()
    let asked = Locked(0)
    let operation = ProbingOperation { if asked.increment() == 1 { driver.operation.cancelAll() } }
    driver.run(operation, tag: 0)
    await driver.wait(forSettled: 1)
    #expect(asked.current > 0)
    #expect(operation.isCancelled && !operation.ran.isOpen)
    driver.operation.finish(with: 1)
  }

  @Test("Cancelled after start() took effect and before the driver heard of it: it hears of the cancel only")
  func cancel_whileStarting_doesNotTellOfTheStart() async {
    let itself = Locked<RecordingDriver?>(nil)
    let driver = RecordingDriver(queue: ProbingQueue { itself.current?.operation.cancel() })
    itself.withLock { $0 = driver }
    await driver.start()
    #expect(driver.events.events == [.cancelled])
    #expect(await settled(driver.operation).isCancelled)
  }

  @Test(
    "Cancelled at any moment, it ends, and the driver is told of everything that it made", arguments: [nil, 2])
  func cancel_racing_endsWithAllTold(width: Int?) async {
    var complaints: [String] = []
    for round in 0..<200 {
      let operations: [Operation] = (0..<8).map { number in
        number % 2 == 0 ? AsyncOperation { number } : HeldOperation<Int>(settlesWhenCancelled: true)
      }
      let driver = RecordingDriver(whenStarted: { driver in
        for (tag, operation) in operations.enumerated() where !driver.operation.isCancelled {
          driver.run(operation, tag: tag)
        }
      })
      if let width { driver.operation.width = width }
      async let starting: Void = driver.start()
      async let cancelling: Void = onWorker {
        for _ in 0..<(round % 40) { sched_yield() }
        driver.operation.cancel()
      }
      _ = await (starting, cancelling)
      // The driver itself cancels tags that didStart adds after the cancel.
      driver.cancelEverything()
      let outcome = await settled(driver.operation)
      let tags = driver.settledTags
      if !outcome.isCancelled { complaints.append("round \(round): \(outcome)") }
      if Set(tags).count != tags.count || tags.count != driver.madeCount {
        complaints.append("round \(round): told of \(tags), made \(driver.madeCount)")
      }
      if driver.events.count(of: .cancelled) != 1 { complaints.append("round \(round): \(driver.events.events)") }
    }
    #expect(complaints == [])
  }
}

/// A plain operation that calls back when it is asked whether it is executing, as the engine does
/// before it starts one.
private final class ProbingOperation: Operation, @unchecked Sendable {  // immutable
  private let whenAsked: @Sendable () -> Void
  let ran = Gate()

  init(whenAsked: @escaping @Sendable () -> Void) {
    self.whenAsked = whenAsked
    super.init()
  }

  override var isExecuting: Bool {
    whenAsked()
    return super.isExecuting
  }

  override func main() { ran.open() }
}

/// A queue that calls back when it is asked for its dispatch queue, as the engine does while it
/// starts a composition.
private final class ProbingQueue: OperationQueue, @unchecked Sendable {  // immutable
  private let whenAsked: @Sendable () -> Void

  init(whenAsked: @escaping @Sendable () -> Void) {
    self.whenAsked = whenAsked
    super.init()
  }

  override var underlyingQueue: DispatchQueue? {
    get {
      whenAsked()
      return super.underlyingQueue
    }
    set { super.underlyingQueue = newValue }
  }
}
