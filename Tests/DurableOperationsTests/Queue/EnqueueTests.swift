import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

@Suite(.timeLimit(.minutes(30))) struct EnqueueTests {
  private struct Odd: Job {
    static let kind = "odd"
    var number: Double
  }

  private struct Payment: Job {
    static let kind = "payment"
    var amounts: [String: Decimal?]
  }

  /// Keys with escapes are left to `JSONEncoder`, which writes NaN.
  @Test(arguments: ["a", "a\n"]) func decimalThatIsNotANumber_isNotEncodable(key: String) throws {
    let queue = try DurableQueue(location: .memory)
    #expect(jobErrorReason { try queue.enqueue(Payment(amounts: ["b": nil, key: .nan])) } == .notEncodable)
    #expect(try queue.counts().total == 0)
    let id = try queue.enqueue(Payment(amounts: ["b": nil, key: 1.5]))
    #expect(try queue.job(id)?.decoded(as: Payment.self).amounts[key] == 1.5)
  }

  /// Of many jobs: a round must not wait until all of them are stored.
  @Test(arguments: Engine.available) func enqueuedByManyCalls_othersComeInBetween(on engine: Engine) async throws {
    let queue = try DurableQueue(location: engine.location())
    let mayBegin = Gate(), seen = EventRecorder<Int>()
    queue.core.database.async { _ in mayBegin.waitBlocking() }
    try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 1...3 {
        group.addTask {
          try await queue.enqueue(contentsOf: (0..<1500).map { Count(number: $0) }).count
        }
        await until(queue.core.withLock { $0.pendingEnqueues.count } == number)
      }
      // Its turn comes after that of the calls, which cannot store all at once.
      queue.core.database.async { session in
        seen.record((try? session.ids(JobFilter(states: [.waiting])).count) ?? -1)
      }
      mayBegin.open()
      for try await count in group { #expect(count == 1500) }
    }
    await seen.wait(forCount: 1)
    #expect(seen.events == [3000])
    #expect(try await queue.counts().total == 4500)
  }

  @Test(arguments: Engine.available) func oneOfManyIsBad_noneIsStored(on engine: Engine) throws {
    var configuration = DurableQueue.Configuration()
    configuration.maxPayloadSize = 40
    let queue = try DurableQueue(location: engine.location(), configuration: configuration)
    let good = JobRequest(Count(number: 1))
    let bad: [(JobRequest, JobError.Reason)] = [
      (JobRequest(Odd(number: .nan)), .notEncodable),
      (JobRequest(Send(text: String(repeating: "x", count: 40))), .payloadTooLarge(size: 51, limit: 40)),
      (
        JobRequest(Count(number: 2), options: JobOptions(dependsOn: [JobID(rawValue: 99)])),
        .unknownPrerequisite(JobID(rawValue: 99))
      ),
      (JobRequest(Count(number: 2), options: JobOptions(dependsOn: [.inSameCall(1)])), .cycle([1, 1])),
    ]
    for (request, code) in bad {
      #expect(jobErrorReason { try queue.enqueue(contentsOf: [good, request, good]) } == code)
    }
    #expect(try queue.counts().total == 0)
    #expect(try queue.enqueue(contentsOf: [good, good]).count == 2)
    #expect(try queue.enqueue(contentsOf: [JobRequest]()).isEmpty)
  }

  @Test(arguments: Engine.available) func errors_nameJobCauseAndRemedy(on engine: Engine) throws {
    let queue = try DurableQueue(location: engine.location())
    let error = #expect(throws: JobError.self) { try queue.enqueue(Odd(number: .infinity)) }
    #expect(error?.description.contains("“odd”") == true)
    #expect(error?.errorDescription == error?.description)
    #expect(error?.description.contains("finite") == true)
    let circle = #expect(throws: JobError.self) {
      try queue.enqueue(contentsOf: [
        JobRequest(Count(number: 1), options: JobOptions(dependsOn: [.inSameCall(1)])),
        JobRequest(Count(number: 2), options: JobOptions(dependsOn: [.inSameCall(0)])),
      ])
    }
    #expect(circle?.description.contains("0 → 1 → 0") == true)
  }

  @Test(arguments: Engine.available) func aThousandTasksAtOnce_allAreStoredButTheBadOne(on engine: Engine) async throws
  {
    let queue = try DurableQueue(location: engine.location())
    let results = await withTaskGroup(of: (Int, Result<JobID, any Error>).self) { group in
      for number in 0..<1000 {
        group.addTask {
          do {
            // One waits for a job that is not there.
            let options = number == 500 ? JobOptions(dependsOn: [JobID(rawValue: 99_999)]) : JobOptions()
            return (number, .success(try await queue.enqueue(Count(number: number), options: options)))
          } catch {
            return (number, .failure(error))
          }
        }
      }
      return await group.reduce(into: [Int: Result<JobID, any Error>]()) { $0[$1.0] = $1.1 }
    }
    #expect(try await queue.counts()[.waiting] == 999)
    for (number, result) in results {
      if number == 500 {
        #expect(jobErrorReason { _ = try result.get() } == .unknownPrerequisite(JobID(rawValue: 99_999)))
      } else {
        #expect(try await queue.job(result.get())?.decoded(as: Count.self).number == number)
      }
    }
  }

  @Test(arguments: Engine.available) func severalTypesInOneCall_runInTheirOrder(on engine: Engine) async throws {
    let queue = try DurableQueue(location: engine.location())
    let seen = EventRecorder<String>()
    try await queue.register(Count.self) { job, _ in BlockOperation { seen.record("\(job.number)") } }
    try await queue.register(Send.self) { job, _ in BlockOperation { seen.record(job.text) } }
    queue.start()
    // The first waits for the last, the last for the second.
    try await queue.enqueue(contentsOf: [
      JobRequest(Count(number: 1), options: JobOptions(dependsOn: [.inSameCall(2)])), JobRequest(Send(text: "two")),
      JobRequest(Send(text: "three"), options: JobOptions(dependsOn: [.inSameCall(1)])),
    ])
    while seen.count < 3 { await seen.wait(forCount: 3) }
    #expect(seen.events == ["two", "three", "1"])
    await queue.stop()
  }

  @Test(arguments: Engine.available) func farFuture_isStoredAndNothingOverflows(on engine: Engine) async throws {
    let queue = try DurableQueue(location: engine.location())
    try await queue.register(Count.self) { _, _ in BlockOperation {} }
    queue.start()
    let starts: [JobStart] = [
      .after(.seconds(Int64.max)), .at(.distantFuture), .at(Date(timeIntervalSince1970: .infinity)),
    ]
    for start in starts {
      let id = try await queue.enqueue(
        Count(number: 1), options: JobOptions(start: start, timeout: .seconds(Int64.max)))
      #expect(try await queue.job(id)?.state == .scheduled)
    }
    let past = try await queue.enqueue(Count(number: 1), options: JobOptions(start: .after(.seconds(Int64.min))))
    let patient = try await queue.enqueue(Count(number: 1), options: JobOptions(timeout: .seconds(Int64.max)))
    try await queue.waitUntilIdle()
    #expect(try await queue.job(past)?.state == .done)
    #expect(try await queue.job(patient)?.state == .done)
    await queue.stop()
  }
}
