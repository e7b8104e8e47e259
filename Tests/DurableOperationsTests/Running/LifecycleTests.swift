import CompositeOperations
import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// Starting, stopping, listening, waiting, and what is left when all is released.
@Suite(.timeLimit(.minutes(30))) struct LifecycleTests {
  @Test(arguments: Engine.available) func stoppedWhileAJobIsClaimed_isCancelledToo(on engine: Engine) async throws {
    for _ in 0..<Scale.count(100, least: 20) {
      let queue = try DurableQueue(location: engine.location())
      try await queue.register(Count.self) { _, _ in NeverFinishingOperation<Void>() }
      let id = try await queue.enqueue(Count(number: 1))
      queue.start()
      await queue.stop(grace: .zero)
      #expect(try await queue.job(id)?.state == .waiting)
    }
  }

  @Test(arguments: Engine.available) func startedAgain_goesOn(on engine: Engine) async throws {
    let queue = try DurableQueue(location: engine.location())
    try await queue.register(Count.self) { _, _ in BlockOperation {} }
    for number in 1...20 {
      queue.start()
      let id = try await queue.enqueue(Count(number: number))
      if number.isMultiple(of: 2) { try await queue.waitUntilIdle() }
      async let stopped: Void = queue.stop(grace: .zero)
      if number.isMultiple(of: 3) { queue.start() }
      await stopped
      queue.start()
      try await queue.waitUntilIdle()
      #expect(try await queue.job(id)?.state == .done)
      await queue.stop()
    }
  }

  @Test(arguments: Engine.available) func events_ofEachJobComeInOrder_andEndWithTheQueue(on engine: Engine) async throws
  {
    var queue: DurableQueue? = try DurableQueue(location: engine.location())
    try await queue?.register(Count.self) { _, context async throws in context.reportProgress(2) }
    let events = try #require(queue?.events()), second = try #require(queue?.events())
    queue?.start()
    try await queue?.enqueue(contentsOf: (0..<100).map { Count(number: $0) })
    try await queue?.waitUntilIdle()
    await queue?.stop()
    queue = nil
    var words: [String: [String]] = [:]
    // On a busy machine a server may also be told to be slow.
    for await event in events where !event.jobIDs.isEmpty {
      let parts = event.text.split(separator: " ")
      words["\(parts[1])", default: []].append("\(parts[0])")
    }
    #expect(words.count == 100)
    #expect(words.values.allSatisfy { $0 == ["enqueued", "started", "progress", "done"] })
    var count = 0
    for await event in second where !event.jobIDs.isEmpty { count += 1 }
    #expect(count == 400)
  }

  @Test(arguments: Engine.available) func events_notRead_areTheNewest1024AndCounted(on engine: Engine) async throws {
    let events: AsyncStream<JobEvent>
    do {
      let queue = try DurableQueue(location: engine.location())
      events = queue.events()
      try await queue.enqueue(contentsOf: (0..<2_000).map { Count(number: $0) })
    }
    var dropped: [Int] = []
    for await event in events { dropped.append(event.droppedCount) }
    #expect(dropped == Array(repeating: 2_000 - 1_024, count: 1_024))
  }

  @Test(arguments: Engine.available) func waitUntilIdle_countsWhatIsDueAlone(on engine: Engine) async throws {
    let harness = try Harness(engine.location())
    let seen = EventRecorder<Int>()
    try await harness.queue.register(Count.self) { job, _ in BlockOperation { seen.record(job.number) } }
    try await harness.queue.enqueue(Count(number: 1), options: JobOptions(startsHeld: true))
    let later = try await harness.queue.enqueue(Count(number: 2), options: JobOptions(start: .after(.seconds(9))))
    try await harness.queue.enqueue(Count(number: 3), options: JobOptions(dependsOn: [later]))
    try await harness.queue.enqueue(Send(text: "unknown here"))
    harness.queue.start()
    try await harness.queue.waitUntilIdle()
    #expect(seen.count == 0)
    // A paused one counts: the wait ends when it has run.
    try await harness.queue.pause(kind: "count")
    try await harness.queue.enqueue(Count(number: 4))
    async let idle: Void = harness.queue.waitUntilIdle()
    try await harness.queue.resume(kind: "count")
    try await idle
    #expect(seen.events == [4])
    await harness.queue.stop()
  }

  @Test(arguments: Engine.available) func taskCancelled_waitUntilIdleEnds(on engine: Engine) async throws {
    let queue = try DurableQueue(location: engine.location())
    try await queue.register(Count.self) { _, _ in BlockOperation {} }
    try await queue.enqueue(Count(number: 1))
    let isWaiting = Gate()
    let waiting = Task {
      isWaiting.open()
      try await queue.waitUntilIdle()
    }
    // Before it waits, or while it does.
    let cancelled = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await queue.waitUntilIdle()
    }
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    await isWaiting.wait()
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
    // Others wait on.
    async let idle: Void = queue.waitUntilIdle()
    queue.start()
    try await idle
    await queue.stop()
  }

  @Test func processThatWasThoughtDead_claimsAnewWhatItLost() async throws {
    try await withDatabaseFile { file in
      let harness = try Harness(.file(file)) { $0.leaseDuration = .seconds(60) }
      let started = Gate(), runs = Locked(0)
      try await harness.queue.register(Count.self) { _, _ async throws in
        if runs.increment() > 1 { return }
        started.open()
        try await Gate().waitUnlessCancelled()
      }
      try await harness.queue.register(Send.self) { _, _ in BlockOperation {} }
      let events = harness.queue.events()
      harness.queue.start()
      let id = try await harness.queue.enqueue(Count(number: 1))
      await started.wait()
      // Another process, an hour later.
      let clock = ManualClock()
      var configuration = DurableQueue.Configuration()
      configuration.clock = JobClock(clock, startingAt: harness.start.addingTimeInterval(3600))
      configuration.busyTimeout = .seconds(60)
      let other = try DurableQueue(location: .file(file), configuration: configuration)
      let rescues = other.events()
      other.start()
      // The machine may have slept, and this process have woken first: not before a third of the
      // lease.
      let looking = Task {
        while !Task.isCancelled {
          await clock.waitForSleeper()
          clock.advance(by: .seconds(1))
          await Task.yield()
        }
      }
      #expect(await texts(of: rescues, through: "rescued \(id)").last == "rescued \(id)")
      looking.cancel()
      #expect(clock.now.offset >= .seconds(20))
      await other.stop()
      let next = try await harness.queue.enqueue(Send(text: "claimed by no worker"))
      await harness.wait(for: .done, of: id)
      await harness.wait(for: .done, of: next)
      // The process is there, so the job has not ended it.
      #expect(try await harness.queue.job(id)?.crashes == 0)
      #expect(try await harness.queue.job(id)?.attempts == 1)
      #expect(await texts(of: events, through: "leaseLost \(id)").last == "leaseLost \(id)")
      // What it claims now is its own: a look around takes nothing away.
      for _ in 0..<5 {
        await harness.clock.waitForSleeper()
        harness.clock.advance(by: .seconds(10))
      }
      try await harness.queue.waitUntilIdle()
      await harness.queue.stop()
    }
  }

  @Test(arguments: Engine.available) func released_nothingIsLeft(on engine: Engine) async throws {
    weak var core: QueueCore?
    weak var operation: Operation?
    for isStopped in [true, false] {
      do {
        let queue = try DurableQueue(location: engine.location())
        core = queue.core
        let started = Gate(), never = NeverFinishingOperation<Void>()
        operation = never
        try await queue.register(Count.self) { _, _ in
          started.open()
          return never
        }
        queue.start()
        try await queue.enqueue(Count(number: 1))
        await started.wait()
        if isStopped { await queue.stop(grace: .zero) }
      }
      await until(core == nil)
    }
    #expect(core == nil)
    _ = operation
  }

  @Test(arguments: Engine.available) func doneJobs_operationsAreReleased(on engine: Engine) async throws {
    let queue = try DurableQueue(location: engine.location())
    let operations = Weaks()
    try await queue.register(Count.self) { _, _ in operations.add(AsyncOperation {}) }
    queue.start()
    try await queue.enqueue(contentsOf: (0..<50).map { Count(number: $0) })
    try await queue.waitUntilIdle()
    await until(operations.aliveCount == 0)
    #expect(operations.count == 50)
    await queue.stop()
  }

  @Test func queueThatGoes_leavesNoTimer() async throws {
    let clock = ManualClock()
    do {
      let harness = try Harness(clock: clock)
      harness.queue.start()
      try await harness.queue.enqueue(Count(number: 1), options: JobOptions(start: .after(.seconds(3600))))
      await clock.waitForSleeper()
    }
    await clock.waitUntilIdle()
  }
}

/// Operations that are not kept.
private final class Weaks: Sendable {
  private struct Weak: @unchecked Sendable {  // only asked whether it is nil
    weak var operation: Operation?
  }
  private let weaks = Locked<[Weak]>([])

  var count: Int { weaks.withLock { $0.count } }
  var aliveCount: Int { weaks.withLock { $0.filter { $0.operation != nil }.count } }

  func add<O: Operation>(_ operation: O) -> O {
    weaks.withLock { $0.append(Weak(operation: operation)) }
    return operation
  }
}
