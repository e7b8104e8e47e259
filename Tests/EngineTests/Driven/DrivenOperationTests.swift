import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// The engine for other targets: a driver adds tags, makes their operations when they may start,
/// and hears when each has settled.
@Suite("3.4 DrivenOperation", .hangLimit)
struct DrivenOperationTests {
  @Test("Started, it calls its driver once and executes until the driver ends it")
  func start_tellsDriver_andExecutes() async {
    let driver = RecordingDriver()
    #expect(driver.events.events == [])
    await driver.start()
    driver.operation.start()
    #expect(driver.events.events == [.started])
    #expect(driver.operation.isExecuting && driver.operation.outcome == nil)
    driver.operation.finish(with: 7)
    #expect(driver.operation.outcome?.value == 7 && driver.operation.isFinished)
    #expect(driver.events.events == [.started])
  }

  @Test("It may be ended in didStart, with any outcome")
  func end_inDidStart_settles() async {
    let failing = RecordingDriver(whenStarted: { $0.operation.reject(with: TestError.first) })
    await failing.start()
    #expect(failing.operation.error as? TestError == .first)
    let cancelling = RecordingDriver(whenStarted: { $0.operation.settle(with: .cancelled) })
    await cancelling.start()
    #expect(cancelling.operation.outcome?.isCancelled == true)
    #expect(cancelling.events.events == [.started])
  }

  @Test("Every kind of operation runs, and is reported once, with its tag, when it has finished")
  func run_everyKind_tellsEachOnce() async {
    let asynchronous = AsyncPlainOperation { operation in DispatchQueue.global().async { operation.complete() } }
    let kinds: [Operation] = [
      succeeding(1), failing(TestError.first), cancelling(), AsyncOperation { 2 },
      CompositeOperation(operations: [succeeding(3), succeeding(4)]),
      CompositeOperation(sequence: ListSequence([succeeding(5), succeeding(6)])),
      succeeding(7).then { succeeding($0 + 1) }, succeeding(8).map { $0 + 1 }, BlockOperation {}, asynchronous,
      ConformingOperation { .success(9) }, Doubling(5),
    ]
    let unfinished = Locked(0)
    let driver = RecordingDriver(
      whenStarted: { driver in
        driver.run(kinds)
        driver.endWhenIdle()
      },
      whenSettled: { _, operation, tag in
        if !operation.isFinished || operation !== kinds[tag] { unfinished.increment() }
      })
    await driver.start()
    #expect(await settled(driver.operation).value == kinds.count)
    #expect(driver.settledTags.sorted() == Array(kinds.indices))
    #expect(unfinished.current == 0)
    #expect(kinds.map { $0.anyOutcome?.isCancelled } == kinds.indices.map { $0 == 2 })
  }

  @Test("Added operations run on a worker: run() returns before, and nothing runs inside it")
  func run_fromAThread_doesNotRunThere() async {
    let driver = RecordingDriver()
    await driver.start()
    let insideRun = ThreadFlag()
    let ranInside = Locked<Bool?>(nil)
    let body = SimpleOperation<Int> { operation in
      ranInside.withLock { $0 = insideRun.isSet }
      operation.finish(with: 1)
    }
    await onThread { insideRun.whileSet { driver.run(body, tag: 0) } }
    await driver.wait(forSettled: 1)
    #expect(ranInside.current == false)
    driver.operation.finish(with: 1)
  }

  @Test("Operations that have settled, run elsewhere or wait elsewhere are waited for, not started")
  func run_joined_tellsWhenItSettles() async {
    let done = SimpleOperation<Int>()
    done.finish(with: 1)
    let executing = HeldOperation<Int>()
    executing.start()
    let queue = OperationQueue(limit: 1, suspended: true)
    let queued = HeldOperation<Int>()
    let plain = RecordingPlainOperation("plain", recorder: EventRecorder())
    queue.add([queued, plain])
    let driver = RecordingDriver()
    await driver.start()
    driver.run([done, executing, queued, plain])
    await driver.events.wait(for: .settled(0))
    #expect(!queued.started.isOpen)
    executing.finish(with: 1)
    await driver.events.wait(for: .settled(1))
    queue.isSuspended = false
    await queued.started.wait()
    #expect(driver.settledTags == [0, 1])
    queued.finish(with: 1)
    await driver.wait(forSettled: 4)
    #expect(driver.settledTags.sorted() == [0, 1, 2, 3])
    driver.operation.finish(with: 1)
  }

  @Test("The same operation added twice runs once and is reported twice")
  func run_twice_tellsBoth() async {
    let runs = Locked(0)
    let operation = SimpleOperation<Int> {
      runs.increment()
      $0.finish(with: 1)
    }
    let driver = RecordingDriver()
    await driver.start()
    driver.run([operation, operation])
    await driver.wait(forSettled: 2)
    #expect(driver.settledTags.sorted() == [0, 1])
    #expect(runs.current == 1)
    driver.operation.finish(with: 1)
  }

  @Test("An operation starts when its dependencies have finished, own and foreign")
  func run_unmetDependencies_startsWhenMet() async {
    let own = SimpleOperation<Int>()
    let foreign = BlockOperation()
    let recorder = EventRecorder<String>()
    let waiting: [Operation] = [
      succeeding(1, named: "own", recorder: recorder), RecordingPlainOperation("plain", recorder: recorder),
      CompositeOperation(operations: [succeeding(1, named: "composite", recorder: recorder)]),
    ]
    for operation in waiting {
      operation.addDependency(own)
      operation.addDependency(foreign)
    }
    let driver = RecordingDriver()
    await driver.start()
    driver.operation.width = 1
    driver.run(waiting + [succeeding(2)])
    // The waiting ones leave their place to the fourth.
    await driver.events.wait(for: .settled(3))
    own.finish(with: 1)
    #expect(recorder.events == [])
    foreign.start()
    await driver.wait(forSettled: 4)
    #expect(recorder.events.sorted() == ["composite", "own", "plain main", "plain start"])
    #expect(waiting.allSatisfy { $0.anyOutcome?.value != nil })
    driver.operation.finish(with: 1)
  }

  @Test("Ten thousand operations added at once are each reported once")
  func run_tenThousand_tellsEachOnce() async {
    let operations = (0..<10_000).map { number in succeeding(number) }
    let driver = RecordingDriver(whenStarted: { driver in
      driver.run(operations)
      driver.endWhenIdle()
    })
    await driver.start()
    #expect(await settled(driver.operation).value == 10_000)
    #expect(driver.settledTags.sorted() == Array(0..<10_000))
    #expect(operations.allSatisfy { $0.outcome?.value != nil })
  }

  @Test("Ten thousand operations added one after the other, each when the one before was reported")
  func run_fromCallbacks_reachesTheEnd() async {
    let driver = RecordingDriver(
      whenStarted: { $0.run(succeeding(0), tag: 0) },
      whenSettled: { driver, _, tag in
        if tag < 9_999 { driver.run(succeeding(tag + 1), tag: tag + 1) } else { driver.endWhenIdle() }
      })
    await driver.start()
    #expect(await settled(driver.operation).value == 10_000)
    #expect(driver.settledTags == Array(0..<10_000))
  }

  @Test("Operations added by four threads at once are each reported once", arguments: [nil, 3])
  func run_fourThreads_tellsEachOnce(width: Int?) async {
    let driver = RecordingDriver()
    if let width { driver.operation.width = width }
    await driver.start()
    await withTaskGroup(of: Void.self) { group in
      for part in 0..<4 {
        group.addTask {
          await onThread { for number in 0..<500 { driver.run(succeeding(number), tag: part * 500 + number) } }
        }
      }
    }
    driver.endWhenIdle()
    #expect(await settled(driver.operation).value == 2_000)
    #expect(driver.settledTags.sorted() == Array(0..<2_000))
  }

  @Test("Children that wait for each other finish: a hundred that settle only when all have started")
  func run_childrenThatWaitForEachOther_finish() async {
    let held = (0..<100).map { _ in HeldOperation<Int>() }
    let driver = RecordingDriver()
    await driver.start()
    driver.run(held)
    for operation in held { await operation.started.wait() }
    for operation in held { operation.finish(with: 1) }
    driver.endWhenIdle()
    #expect(await settled(driver.operation).value == 100)
  }

  @Test("When the driver has ended it, neither the operation, its closures nor the added operations are kept")
  func end_releasesEverything() async {
    let released = (0..<3).map { _ in Gate() }
    let reference: WeakReference<DrivenOperation<Int>>
    do {
      let probes = released.map(ReleaseProbe.init)
      let ended = Gate()
      let operation = DrivenOperation<Int>(
        driver: DrivenOperation.Driver(
          didStart: { operation in
            probes[0].touch()
            operation.run(tags: [0])
          },
          makeOperation: { _, tag in
            let child = SimpleOperation<Int> { $0.finish(with: 1) }
            child.completionBlock = { probes[1].touch() }
            return (child, tag: tag)
          },
          operationDidSettle: { operation, _, _ in
            operation.finish(with: 1)
            ended.open()
            return []
          },
          wasCancelled: { _ in probes[2].touch() }))
      reference = WeakReference(operation)
      await onWorker { operation.start() }
      await ended.wait()
    }
    for gate in released { await gate.wait() }
    await untilReleased(reference)
  }
}
