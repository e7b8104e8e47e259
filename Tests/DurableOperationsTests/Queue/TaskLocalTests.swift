import CompositeOperations
import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

@Suite("Task-local values of jobs", .timeLimit(.minutes(30))) struct TaskLocalTests {
  init() { Request.registration }

  @Test(arguments: Engine.available) func handler_seesNothing(_ engine: Engine) async throws {
    let (seen, clock) = (SeenRequests(), ManualClock())
    let harness = try Request.with(9) {
      try Harness(engine.location(), clock: clock) { configuration in
        configuration.logHandler = { _ in seen.note("log handler") }
        let start = Date(timeIntervalSince1970: 1_800_000_000)
        configuration.clock = JobClock(
          clock,
          now: {
            seen.note("date")
            return start.addingTimeInterval(clock.now.offset / .seconds(1))
          })
        configuration.networkMonitor = NotingMonitor(seen: seen)
        configuration.randomNumberGenerator = {
          seen.note("random source")
          return SystemRandomNumberGenerator()
        }
      }
    }
    try Request.with(8) {
      harness.queue.report(to: NotingSink(seen: seen))
      try harness.queue.register(Count.self) { count, context in
        seen.note("operation")
        return SimpleOperation {
          seen.note("body")
          if context.attempt == 1 || count.number < 0 { throw TestError.first }
        }
      }
    }
    await Request.elsewhere(1) { harness.queue.start() }
    let id = try await Request.with(2) { try await harness.queue.enqueue(Count(number: 1)) }
    await harness.advance(by: .seconds(3_600), until: .done, of: id)
    try await Request.with(3) {
      _ = try await harness.queue.enqueue(Count(number: -1), options: JobOptions(maxAttempts: 1))
    }
    try await harness.queue.waitUntilIdle()
    await harness.queue.stop()
    #expect(seen.places == ["operation", "body", "sink", "random source", "monitor", "log handler", "date"])
    #expect(seen.some == [])
  }

  @Test(arguments: Engine.available) func bodiesOfTransactions_seeTheCaller(_ engine: Engine) async throws {
    let seen = SeenRequests()
    let queue = try DurableQueue(location: engine.location())
    await Request.elsewhere(1) { try! queue.transaction { _ in seen.note("transaction") } }
    try await Request.with(1) { try await queue.transaction { _ in seen.note("async transaction") } }
    try await queue.register(Count.self) { _, context in
      AsyncOperation {
        try await Request.with(1) { try await context.complete { _ in seen.note("complete") } }
      }
    }
    queue.start()
    try await queue.enqueue(Count(number: 1))
    try await queue.waitUntilIdle()
    await queue.stop()
    #expect(seen.places == ["transaction", "async transaction", "complete"])
    #expect(seen.others(than: 1) == [])
  }
}

private struct NotingMonitor: ReachabilityMonitor {
  let seen: SeenRequests

  func reachability() -> AsyncStream<Bool> {
    seen.note("monitor")
    return AsyncStream { $0.yield(true) }
  }
}
