import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("Typed: all", .hangLimit)
struct AllTests {
  @Test("all: the values in order, whatever the order of finishing")
  func all_succeeding_inOrder() async {
    let operations = (0..<5).map { _ in HeldOperation<Int>() }
    let combined = all(operations)
    await onWorker { combined.start() }
    for (number, operation) in operations.enumerated().reversed() {
      await operation.started.wait()
      operation.finish(with: number)
    }
    #expect(await settled(combined).value == [0, 1, 2, 3, 4])
  }

  @Test("all: of none, an empty array")
  func all_ofNone_succeeds() async {
    #expect(await outcomeOfStarting(all([SimpleOperation<Int>]())).value == [])
  }

  @Test("all: one fails: its own error, the rest is cancelled, and no further one starts")
  func all_oneFailing_failsWithItsError() async {
    let recorder = EventRecorder<String>()
    let operations = [failing(TestError.first)] + (0..<20).map { succeeding($0, named: "rest", recorder: recorder) }
    let combined = all(operations, maxConcurrent: 1)
    #expect(await outcomeOfStarting(combined).error as? TestError == .first)
    #expect(recorder.events.isEmpty)
    #expect(operations.allSatisfy { $0.isFinished })
    #expect(operations[1...].allSatisfy { $0.outcome?.isCancelled == true })
  }

  @Test("all: maxConcurrent is held", arguments: 1...3)
  func all_maxConcurrent_isHeld(limit: Int) async {
    let gauge = ConcurrencyGauge()
    let operations = (0..<60).map { number in
      AsyncOperation<Int> {
        gauge.enter()
        await Task.yield()
        gauge.leave()
        return number
      }
    }
    #expect(await outcomeOfStarting(all(operations, maxConcurrent: limit)).value == Array(0..<60))
    #expect(gauge.maximum <= limit)
  }

  @Test("all: cancelling it cancels what runs and what waits")
  func all_cancelled_cancelsEverything() async {
    let operations = (0..<4).map { _ in HeldOperation<Int>(settlesWhenCancelled: true) }
    let combined = all(operations, maxConcurrent: 2)
    await onWorker { combined.start() }
    await operations[0].started.wait()
    await operations[1].started.wait()
    combined.cancel()
    #expect(await settled(combined).isCancelled)
    #expect(operations.allSatisfy { $0.isFinished && $0.isCancelled })
    #expect(!operations[2].started.isOpen && !operations[3].started.isOpen)
  }

  @Test("all: one is cancelled from outside: it is .cancelled")
  func all_oneCancelled_isCancelled() async {
    let operations = (0..<3).map { _ in HeldOperation<Int>(settlesWhenCancelled: true) }
    let combined = all(operations)
    await onWorker { combined.start() }
    for operation in operations { await operation.started.wait() }
    operations[1].cancel()
    #expect(await settled(combined).isCancelled)
    #expect(operations.allSatisfy { $0.isCancelled })
  }

  @Test("all: the same operation twice runs once; the second place joins the first", arguments: [1, -1])
  func all_sameTwice_runsOnce(limit: Int) async {
    let runs = Locked(0)
    let operation = AsyncOperation<Int> { runs.increment() }
    #expect(await outcomeOfStarting(all([operation, operation], maxConcurrent: limit)).value == [1, 1])
  }
}
