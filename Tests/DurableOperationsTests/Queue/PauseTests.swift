import CompositeOperationsTestKit
import DurableOperations
import Foundation
import Testing

@Suite(.timeLimit(.minutes(30))) struct PauseTests {
  @Test(arguments: Engine.available) func paused_waitsUntilResumed(on engine: Engine) async throws {
    let queue = try DurableQueue(location: engine.location())
    let seen = EventRecorder<String>()
    try await queue.register(Count.self) { _, _ in BlockOperation { seen.record("count") } }
    try await queue.register(Send.self) { _, _ in BlockOperation { seen.record("send") } }
    queue.start()
    try await queue.pause(kind: "count")
    let paused = try await queue.enqueue(Count(number: 1))
    try await queue.enqueue(Send(text: "x"))
    await seen.wait(for: "send")
    #expect(try await queue.job(paused)?.state == .waiting)
    #expect(try await queue.counts()["count"]?.isPaused == true)
    try await queue.resume(kind: "count")
    try await queue.waitUntilIdle()
    #expect(seen.events == ["send", "count"])
    await queue.stop()
  }

  @Test func paused_isStillWhenTheFileIsOpenedAgain() async throws {
    try await withDatabaseFile { file in
      let id: JobID
      do {
        let queue = try DurableQueue.patient(file)
        // A kind that is not registered yet.
        try await queue.pause(kind: "count")
        id = try await queue.enqueue(Count(number: 1))
      }
      for _ in 0..<20 {
        let queue = try DurableQueue.patient(file)
        let seen = EventRecorder<String>()
        try await queue.register(Count.self) { _, _ in BlockOperation { seen.record("count") } }
        try await queue.register(Send.self) { _, _ in BlockOperation { seen.record("send") } }
        queue.start()
        // Begins a round, maybe before the first look around.
        try await queue.enqueue(Send(text: "x"))
        await seen.wait(for: "send")
        await queue.stop()
        #expect(seen.events == ["send"])
        #expect(try await queue.job(id)?.state == .waiting)
      }
      let queue = try DurableQueue.patient(file)
      try await queue.register(Count.self) { _, _ in BlockOperation {} }
      queue.start()
      try await queue.resume(kind: "count")
      try await queue.waitUntilIdle()
      #expect(try await queue.job(id)?.state == .done)
      await queue.stop()
    }
  }

  @Test func pausedByAnotherQueueOnTheFile_isSeen() async throws {
    try await withDatabaseFile { file in
      let harness = try Harness(.file(file))
      let other = try DurableQueue.patient(file)
      try await harness.queue.register(Count.self) { _, _ in BlockOperation {} }
      harness.queue.start()
      try await harness.queue.waitUntilIdle()
      try await other.pause(kind: "count")
      let id = try await other.enqueue(Count(number: 1))
      let witness = try await other.enqueue(Count(number: 2), options: JobOptions(startsHeld: true))
      for _ in 0..<5 {
        await harness.clock.waitForSleeper()
        harness.clock.advance(by: .seconds(1))
      }
      #expect(try await harness.queue.job(id)?.state == .waiting)
      try await other.resume(kind: "count")
      while try await harness.queue.job(id)?.state != .done, !Task.isCancelled {
        harness.clock.advance(by: .seconds(1))
        await Task.yield()
      }
      #expect(try await harness.queue.job(witness)?.state == .held)
      await harness.queue.stop()
    }
  }
}
