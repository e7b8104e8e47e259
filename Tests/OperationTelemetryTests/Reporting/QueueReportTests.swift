import CompositeOperations
import DurableOperations
import Foundation
import TestSupport
import Testing

private struct Send: Job {
  static let kind = "send"
  var text: String
}

private struct Failure: Error {}

@Suite("What queues report", .timeLimit(.minutes(10)))
struct QueueReportTests {
  private let clock = ManualClock()
  private let told = EventRecorder<String>()

  private func makeQueue() throws -> DurableQueue {
    var configuration = DurableQueue.Configuration()
    configuration.clock = JobClock(clock, startingAt: Date(timeIntervalSince1970: 1_800_000_000))
    configuration.logHandler = { [told] in told.record("\($0.kind)") }
    return try DurableQueue(location: .memory, configuration: configuration)
  }

  @Test("A job is reported from being enqueued to its end")
  func job_succeeds_isReportedInOrder() async throws {
    let sink = RecordingSink()
    let queue = try makeQueue()
    queue.report(to: sink)
    try await queue.register(Send.self) { _, _ in }
    queue.start()
    let id = try await queue.enqueue(Send(text: "Hello"))
    await sink.lines.wait(forCount: 3)
    #expect(
      sink.lines.events == ["debug added send", "debug started send (attempt 1)", "info succeeded send (timed)"])
    #expect(sink.events.allSatisfy { $0.id == id.rawValue && $0.source == "memory" })
    await queue.stop()
  }

  @Test("A failure is a warning, and a dead job an error, which the log handler is told of, too")
  func job_failsAndDies_isReportedInOrder() async throws {
    let sink = RecordingSink()
    let queue = try makeQueue()
    queue.report(to: sink)
    try await queue.register(Send.self) { _, _ in throw Failure() }
    queue.start()
    _ = try await queue.enqueue(
      Send(text: "Hello"), options: JobOptions(maxAttempts: 2, backoff: .constant(.seconds(1), jitter: .none)))
    await sink.lines.wait(forCount: 3)
    while sink.lines.count < 5, !Task.isCancelled {
      clock.advance(by: .milliseconds(100))
      await Task.yield()
    }
    #expect(
      sink.lines.events == [
        "debug added send", "debug started send (attempt 1)", "warning retrying send (attempt 1, timed): Failure",
        "debug started send (attempt 2)", "error dead send (timed): Failure",
      ])
    #expect(told.events == ["dead"])
    await queue.stop()
  }

  @Test("A job that is stopped waits again, and a cancelled one ends")
  func stopAndCancel_areReported() async throws {
    let sink = RecordingSink()
    let queue = try makeQueue()
    queue.report(to: sink)
    try await queue.register(Send.self) { _, _ in try await ManualClock().sleep(for: .seconds(3600)) }
    queue.start()
    let id = try await queue.enqueue(Send(text: "Hello"))
    await sink.lines.wait(forCount: 2)
    await queue.stop(grace: .zero)
    await sink.lines.wait(for: "debug returned send (timed)")
    queue.start()
    await sink.lines.wait(until: { $0.last?.contains("started") == true })
    _ = try await queue.cancel(id)
    await sink.lines.wait(for: "info cancelled send (timed)")
    #expect(TelemetryEvent.executionsAreSound(sink.events))
    await queue.stop()
  }

  @Test("A sink that was removed gets nothing more")
  func remove_endsTheReports() async throws {
    let (first, second) = (RecordingSink(), RecordingSink())
    let queue = try makeQueue()
    queue.report(to: first)
    queue.report(to: second).remove()
    _ = try await queue.enqueue(Send(text: "Hello"))
    #expect(first.lines.events == ["debug added send"])
    #expect(second.events.isEmpty)
  }
}
