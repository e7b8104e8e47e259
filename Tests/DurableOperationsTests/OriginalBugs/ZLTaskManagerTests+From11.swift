import CompositeOperations
import CompositeOperationsTestKit
import Foundation
import Testing

@testable import DurableOperations

extension ZLTaskManagerTests {
  @Test("11: many are enqueued, all or none, and run; during a stop too", arguments: Engine.available)
  func bug11(on engine: Engine) async throws {
    let queue = try DurableQueue(location: engine.location())
    let started = Gate(), proceed = Gate()
    try await queue.register(Count.self) { _, _ async throws in
      started.open()
      await proceed.wait()
    }
    queue.start()
    try await queue.enqueue(Count(number: 1))
    await started.wait()
    async let stopped: Void = queue.stop()
    let ids = try await queue.enqueue(contentsOf: [Count(number: 2), Count(number: 3)])
    let code = jobErrorReason {
      try queue.enqueue(contentsOf: [
        JobRequest(Count(number: 4)),
        JobRequest(Count(number: 5), options: JobOptions(dependsOn: [JobID(rawValue: 99)])),
      ])
    }
    #expect(code == .unknownPrerequisite(JobID(rawValue: 99)))
    proceed.open()
    await stopped
    queue.start()
    try await queue.waitUntilIdle()
    let states = try ids.map { try queue.job($0)?.state }
    #expect(states == [.done, .done])
    #expect(try await queue.counts().total == 3)
    await queue.stop()
  }

  @Test("12: one job can be found, watched, cancelled, and told from others by a key", arguments: Engine.available)
  func bug12(on engine: Engine) async throws {
    let queue = try DurableQueue(location: engine.location())
    let events = queue.events()
    let options = JobOptions(uniqueKey: UniqueKey("one"))
    let id = try await queue.enqueue(Count(number: 1), options: options)
    #expect(jobErrorReason { try queue.enqueue(contentsOf: [Count(number: 1)], options: options) } == .duplicate(id))
    let found = try await queue.jobs(Count.self, uniqueKey: "one").map(\.id)
    #expect(found == [id])
    #expect(await texts(of: events, through: "enqueued \(id)").count == 1)
    try await queue.cancel(id)
    #expect(try await queue.job(id)?.state == .cancelled)
  }

  @Test(
    "13: jobs of an unregistered kind wait; a payload that is not JSON is a typed error", arguments: Engine.available
  )
  func bug13(on engine: Engine) async throws {
    struct Odd: Job {
      static let kind = "odd"
      var number: Double
    }
    let queue = try DurableQueue(location: engine.location())
    queue.start()
    let id = try await queue.enqueue(Count(number: 1))
    try await queue.waitUntilIdle()
    #expect(try await queue.job(id)?.state == .waiting)
    #expect(jobErrorReason { try queue.enqueue(contentsOf: [Odd(number: .nan)]) } == .notEncodable)
    await queue.stop()
  }

  @Test("15: the asynchronous enqueue leaves the disk to the database's own thread")
  func bug15() async throws {
    try await withDatabaseFile { file in
      let queue = try DurableQueue.patient(file)
      let ids = try await withThrowingTaskGroup(of: JobID.self) { group in
        for number in 0..<200 { group.addTask { try await queue.enqueue(Count(number: number)) } }
        return try await group.reduce(into: Set<JobID>()) { $0.insert($1) }
      }
      #expect(ids.count == 200)
    }
  }

  @Test("16: an export gives payloads that are no text as well")
  func bug16() async throws {
    let queue = try DurableQueue(location: .memory)
    let id = try await queue.enqueue(Count(number: 1))
    try await queue.transaction {
      _ = try $0.execute("UPDATE durable_jobs SET payload = x'ff00fe' WHERE id = ?", .integer(id.rawValue))
    }
    var lines: [String] = []
    try await queue.export { lines.append($0) }
    let object = try JSONSerialization.jsonObject(with: Data(lines[0].utf8)) as? [String: Any]
    #expect(object?["payloadBase64"] as? String == "/wD+")
  }

  @Test("18: a kind's limit leaves room for the others", arguments: Engine.available)
  func bug18(on engine: Engine) async throws {
    var configuration = DurableQueue.Configuration()
    configuration.maxConcurrentOperationCount = 4
    let queue = try DurableQueue(location: engine.location(), configuration: configuration)
    let never = Gate(), seen = EventRecorder<String>()
    try await queue.register(Count.self, maxConcurrent: 3) { _, _ async throws in try await never.waitUnlessCancelled()
    }
    try await queue.register(Send.self) { job, _ in BlockOperation { seen.record(job.text) } }
    try await queue.enqueue(
      contentsOf: (0..<50).map { Count(number: $0) }, options: JobOptions(priority: .userInitiated))
    try await queue.enqueue(Send(text: "through"))
    queue.start()
    await seen.wait(for: "through")
    #expect(try await queue.counts()["count"]?[.executing] == 3)
    await queue.stop(grace: .zero)
  }

  @Test(
    "19: jobs of one priority run in the order of their numbers, whatever the clock shows", arguments: Engine.available)
  func bug19(on engine: Engine) async throws {
    let shift = Contested()
    var configuration = DurableQueue.Configuration()
    configuration.maxConcurrentOperationCount = 1
    let origin = Date(timeIntervalSince1970: 1_800_000_000)
    configuration.clock = JobClock(ManualClock(), now: { origin.addingTimeInterval(-shift.next()) })
    let queue = try DurableQueue(location: engine.location(), configuration: configuration)
    let seen = EventRecorder<Int>()
    try await queue.register(Count.self) { job, _ in BlockOperation { seen.record(job.number) } }
    for number in 0..<20 { try await queue.enqueue(Count(number: number)) }
    queue.start()
    try await queue.waitUntilIdle()
    #expect(seen.events == Array(0..<20))
    await queue.stop()
  }
}

/// Always the same number.
struct Fixed: RandomNumberGenerator {
  mutating func next() -> UInt64 { 1 << 62 }
}
