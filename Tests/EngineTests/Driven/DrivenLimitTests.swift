import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// Width and suspension of a driven operation.
@Suite("3.4 DrivenOperation: limits", .hangLimit)
struct DrivenLimitTests {
  @Test("Width 1: one after the other, in the order of handing in, asynchronous work included")
  func width_one_runsInOrder() async {
    let recorder = EventRecorder<Int>()
    let gauge = ConcurrencyGauge()
    let operations = (0..<7).map { number in
      AsyncOperation {
        gauge.enter()
        recorder.record(number)
        await Task.yield()
        gauge.leave()
        return number
      }
    }
    let driver = RecordingDriver(whenStarted: { driver in
      driver.operation.isSuspended = true
      driver.operation.width = 1
      driver.run(operations)
      driver.endWhenIdle()
      driver.operation.isSuspended = false
    })
    await driver.start()
    #expect(await settled(driver.operation).value == 7)
    #expect(recorder.events == Array(0..<7))
    // The next may settle on one thread while another is about to report the one before.
    #expect(driver.settledTags.sorted() == Array(0..<7))
    #expect(gauge.maximum == 1)
  }

  @Test("As many operations are unfinished at once as the width allows, and no more", arguments: 1...4)
  func width_ofFew_isKeptAndUsed(width: Int) async {
    let held = (0..<10).map { _ in HeldOperation<Int>() }
    let gauge = ConcurrencyGauge()
    for operation in held {
      operation.started.whenOpen { gauge.enter() }
      operation.completion = { _ in gauge.leave() }
    }
    let driver = RecordingDriver()
    driver.operation.width = width
    #expect(driver.operation.width == width)
    await driver.start()
    driver.run(held)
    for (number, operation) in held.enumerated() {
      // This many are running at any time, the first ones.
      for other in held[number..<min(number + width, held.count)] { await other.started.wait() }
      operation.finish(with: number)
    }
    driver.endWhenIdle()
    #expect(await settled(driver.operation).value == 10)
    #expect(gauge.maximum == width)
  }

  @Test("A width that grows lets more start; one that shrinks applies from the next on")
  func width_changed_holdsFromTheNext() async {
    let held = (0..<6).map { _ in HeldOperation<Int>() }
    let driver = RecordingDriver()
    driver.operation.width = 1
    await driver.start()
    driver.run(held)
    await held[0].started.wait()
    driver.operation.width = 3
    await held[2].started.wait()
    #expect(!held[3].started.isOpen)
    driver.operation.width = 1
    held[0].finish(with: 0)
    held[1].finish(with: 1)
    await driver.wait(forSettled: 2)
    await settleDown()
    #expect(!held[3].started.isOpen)
    held[2].finish(with: 2)
    await held[3].started.wait()
    #expect(!held[4].started.isOpen)
    driver.operation.width = .max
    await held[5].started.wait()
    for operation in held { operation.finish(with: 0) }
    driver.endWhenIdle()
    #expect(await settled(driver.operation).value == 6)
  }

  #if os(macOS) || os(Linux)
  @Test("A width of 0 traps")
  func width_ofZero_traps() async {
    await #expect(processExitsWith: .failure) { RecordingDriver().operation.width = 0 }
  }
  #endif

  @Test("Suspended, nothing more starts, and running operations continue; resumed, all run")
  func isSuspended_whileRunning_startsNothing() async {
    let held = (0..<4).map { _ in HeldOperation<Int>() }
    let driver = RecordingDriver()
    await driver.start()
    driver.run(held[0], tag: 0)
    await held[0].started.wait()
    driver.operation.isSuspended = true
    #expect(driver.operation.isSuspended)
    for number in 1..<4 { driver.run(held[number], tag: number) }
    held[0].finish(with: 0)
    await driver.wait(forSettled: 1)
    await settleDown()
    #expect(held[1...].allSatisfy { !$0.started.isOpen })
    driver.operation.isSuspended = false
    for operation in held { await operation.started.wait() }
    for operation in held { operation.finish(with: 0) }
    driver.endWhenIdle()
    #expect(await settled(driver.operation).value == 4)
  }

  @Test("Both limits set at once start nothing by themselves")
  func setLimits_startsNothingUntilAskedTo() async {
    let held = (0..<3).map { _ in HeldOperation<Int>() }
    let driver = RecordingDriver()
    driver.operation.isSuspended = true
    await driver.start()
    driver.run(held)
    #expect(driver.operation.setLimits(width: 1, isSuspended: true) == false)
    #expect(driver.operation.setLimits(width: 2, isSuspended: false))
    #expect(driver.operation.width == 2 && !driver.operation.isSuspended)
    await settleDown()
    #expect(!held[0].started.isOpen)
    driver.operation.startMore()
    await held[1].started.wait()
    #expect(!held[2].started.isOpen)
    held[0].finish(with: 0)
    await held[2].started.wait()
    for operation in held[1...] { operation.finish(with: 0) }
    driver.endWhenIdle()
    #expect(await settled(driver.operation).value == 3)
  }

  @Test("Suspended before the start, it starts and calls its driver, and nothing else")
  func isSuspended_beforeStart_startsNothing() async {
    let operation = HeldOperation<Int>()
    let driver = RecordingDriver(whenStarted: { $0.run(operation, tag: 0) })
    driver.operation.isSuspended = true
    await driver.start()
    #expect(driver.events.events == [.started])
    await settleDown()
    #expect(!operation.started.isOpen)
    driver.operation.isSuspended = false
    await operation.started.wait()
    operation.finish(with: 1)
    driver.endWhenIdle()
    #expect(await settled(driver.operation).value == 1)
  }

  @Test("Suspended and resumed all the time, every settlement is reported once")
  func isSuspended_toggled_losesNothing() async {
    let driver = RecordingDriver()
    driver.operation.width = 2
    await driver.start()
    async let toggling: Void = onWorker {
      for _ in 0..<300 {
        driver.operation.isSuspended = true
        driver.operation.width = Int.random(in: 1...4)
        driver.operation.isSuspended = false
      }
    }
    for number in 0..<600 { driver.run(AsyncOperation { number }, tag: number) }
    await toggling
    driver.endWhenIdle()
    #expect(await settled(driver.operation).value == 600)
    #expect(driver.settledTags.sorted() == Array(0..<600))
  }

  @Test("An operation that becomes ready several times, by its dependencies and a cancel, is claimed once")
  func dependencies_metAndCancelledWhileSuspended_claimsOnce() async {
    let dependency = SimpleOperation<Int>()
    let waiting = HeldOperation<Int>()
    waiting.addDependency(dependency)
    let driver = RecordingDriver()
    await driver.start()
    driver.run([waiting, succeeding(1)])
    await driver.wait(forSettled: 1)
    await settleDown()
    driver.operation.isSuspended = true
    dependency.finish(with: 1)
    waiting.cancel()
    driver.operation.isSuspended = false
    await driver.wait(forSettled: 2)
    driver.run(succeeding(2), tag: 2)
    await driver.wait(forSettled: 3)
    await settleDown()
    #expect(driver.settledTags == [1, 0, 2])
    driver.operation.finish(with: 1)
  }
}
