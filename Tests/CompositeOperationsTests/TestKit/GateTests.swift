import CompositeOperations
import CompositeOperationsTestKit
import TestSupport
import Testing

@Suite("Test kit: Gate", .hangLimit)
struct GateTests {
  @Test("It lets waiting tasks through in their order, and later ones, too")
  func open_letsThrough() async throws {
    let gate = Gate()
    let calls = EventRecorder<Int>()
    for number in 1...3 { gate.whenOpen { calls.record(number) } }
    #expect(!gate.isOpen && calls.events.isEmpty)
    gate.open()
    gate.open()
    #expect(gate.isOpen)
    #expect(calls.events == [1, 2, 3])
    await gate.wait()
    try await gate.waitUnlessCancelled()
    gate.whenOpen { calls.record(4) }
    #expect(calls.count == 4)
  }

  @Test("Closed again, it holds later tasks")
  func close_holds() async {
    let gate = Gate(isOpen: true)
    await gate.wait()
    gate.close()
    let calls = EventRecorder<Int>()
    gate.whenOpen { calls.record(1) }
    #expect(calls.events.isEmpty)
    gate.open()
    gate.close()
    #expect(calls.events == [1])
    #expect(!gate.isOpen)
  }

  @Test("A cancelled task stops waiting, before and while it waits")
  func waitUnlessCancelled_throws() async {
    let gate = Gate()
    for isLate in [true, false] {
      let started = Gate()
      let task = Task {
        started.open()
        try await gate.waitUnlessCancelled()
      }
      if isLate { await started.wait() }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
    }
  }

  @Test("Opened and closed at once while a task is cancelled: the task passes or throws, and never hangs")
  func waitUnlessCancelled_race() async {
    for _ in 0..<500 {
      let gate = Gate()
      let task = Task { try await gate.waitUnlessCancelled() }
      async let opened: Void = onWorker {
        gate.open()
        gate.close()
        gate.open()
      }
      task.cancel()
      await opened
      _ = await task.result
    }
  }

  @Test("A callback that is forgotten or was called is released")
  func callbacks_areReleased() async {
    let gate = Gate()
    let released = Gate()
    func register() {
      let probe = ReleaseProbe(released)
      gate.whenOpen { probe.touch() }
    }
    register()
    #expect(!released.isOpen)
    gate.open()
    #expect(released.isOpen)
  }
}
