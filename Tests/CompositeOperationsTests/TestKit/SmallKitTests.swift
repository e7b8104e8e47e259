import CompositeOperations
import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@Suite("Test kit: EventRecorder", .hangLimit)
struct EventRecorderTests {
  @Test("It keeps the order, and counts")
  func record_keepsOrder() {
    let log = EventRecorder<String>()
    for event in ["a", "b", "a"] { log.record(event) }
    #expect(log.events == ["a", "b", "a"])
    #expect(log.count == 3 && log.count(of: "a") == 2)
    #expect(log.contains("b") && !log.contains("c"))
  }

  @Test("Waiters are resumed by their event, once, also if it was recorded before")
  func wait_resumes() async {
    for _ in 0..<100 {
      let log = EventRecorder<Int>()
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<4 { group.addTask { log.record(number) } }
        for number in 0..<4 { group.addTask { await log.wait(for: number) } }
        group.addTask { await log.wait(forCount: 4) }
        group.addTask { await log.wait { $0.contains(1) && $0.contains(2) } }
      }
      #expect(log.count == 4)
    }
  }

  @Test("A wait ends when its task is cancelled, before it began, in the middle, or while the event comes")
  func wait_cancelled_ends() async {
    for round in 0..<300 {
      let log = EventRecorder<Int>()
      let waiting = Task { await log.wait(for: 1) }
      if round % 3 == 1 { await Task.yield() }
      if round % 3 == 2 { DispatchQueue.global().async { log.record(1) } }
      waiting.cancel()
      await waiting.value
    }
  }

  @Test("A condition may look at the recorder itself")
  func wait_conditionReadingRecorder() async {
    let log = EventRecorder<Int>()
    async let waiting: Void = log.wait { _ in log.count == 2 }
    log.record(1)
    log.record(2)
    await waiting
  }
}

@Suite("Test kit: NeverFinishingOperation", .hangLimit)
struct NeverFinishingOperationTests {
  @Test("It ends when it is cancelled")
  func cancel_ends() {
    let never = NeverFinishingOperation<Int>(name: "never")
    never.start()
    #expect(never.started.isOpen && never.isExecuting && never.name == "never")
    never.cancel()
    #expect(never.cancelRequested.isOpen)
    #expect(never.outcome?.isCancelled == true)
  }

  @Test("A held operation ends when it is released")
  func release_ends() {
    let never = NeverFinishingOperation<Int>(holdsOn: true)
    never.start()
    never.cancel()
    #expect(never.cancelRequested.isOpen && !never.isFinished)
    never.release()
    #expect(never.outcome?.isCancelled == true)
  }
}

@Suite("Test kit: SeededRandomNumberGenerator")
struct SeededRandomNumberGeneratorTests {
  @Test("The same seed gives the same numbers, another seed others")
  func numbers_bySeed() {
    func numbers(_ seed: UInt64) -> [UInt64] {
      var random = SeededRandomNumberGenerator(seed: seed)
      return (0..<3).map { _ in random.next() }
    }
    #expect(numbers(0) == [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4, 0x06C4_5D18_8009_454F])
    #expect(numbers(1) == numbers(1))
    #expect(numbers(1) != numbers(2))
  }
}
