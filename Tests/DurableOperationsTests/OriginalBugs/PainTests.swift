import CompositeOperations
import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// Problems that users of other job queues report, by the numbers of the list of pains.
@Suite(.timeLimit(.minutes(30))) struct PainTests {
  @Test("13: a job of an unknown kind is parked, and runs when its kind is known")
  func pain13() async throws {
    try await withDatabaseFile { file in
      let id = try await DurableQueue.patient(file).enqueue(Send(text: "x"))
      let queue = try DurableQueue.patient(file)
      let seen = EventRecorder<String>()
      queue.start()
      try await queue.waitUntilIdle()
      #expect(try await queue.job(id)?.state == .waiting)
      try await queue.register(Send.self) { job, _ in BlockOperation { seen.record(job.text) } }
      try await queue.waitUntilIdle()
      #expect(try await queue.job(id)?.state == .done)
      await queue.stop()
      #expect(seen.events == ["x"])
    }
  }

  @Test("14: what a worker that was given up acknowledges late is refused")
  func pain14() throws {
    let harness = try StoreHarness()
    let id = try harness.enqueue()
    let old = try harness.claim().jobs[0]
    _ = try harness.change { try $0.rescue(from: harness.worker, after: .crashed, maxCrashes: nil) }
    let new = try harness.claim().jobs[0]
    #expect(new.claim > old.claim)
    let late = StoreHarness.acknowledgement(of: id, claim: old.claim)
    #expect(try !harness.change { try $0.acknowledge(late, keepsDone: true) })
    #expect(try harness.state(id) == .executing)
  }

  @Test("15: several queues on one file write at the same time without an error")
  func pain15() async throws {
    try await withDatabaseFile { file in
      let queues = try (0..<4).map { _ in try DurableQueue.patient(file) }
      for queue in queues {
        try await queue.register(Count.self) { _, _ in BlockOperation {} }
        queue.start()
      }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for queue in queues {
          for number in 0..<50 {
            group.addTask {
              let id = try await queue.enqueue(Count(number: number))
              _ = try await queue.job(id)
              try await queue.transaction { db in
                _ = try db.execute("SELECT count(*) FROM durable_jobs")
                try db.enqueue(Count(number: number))
              }
            }
          }
        }
        try await group.waitForAll()
      }
      for queue in queues { try await queue.waitUntilIdle() }
      for queue in queues { await queue.stop() }
      #expect(try await queues[0].counts()[.done] == 400)
    }
  }

  @Test("16: of many that enqueue one unique job at once a single one succeeds")
  func pain16() async throws {
    try await withDatabaseFile { file in
      let queues = try (0..<3).map { _ in try DurableQueue.patient(file) }
      let ids = await withTaskGroup(of: JobID?.self) { group in
        for queue in queues {
          for number in 0..<20 {
            group.addTask {
              try? await queue.enqueue(Count(number: number), options: JobOptions(uniqueKey: UniqueKey("k")))
            }
          }
        }
        return await group.reduce(into: [JobID]()) { ids, id in id.map { ids.append($0) } }
      }
      #expect(ids.count == 1)
      #expect(try await queues[0].counts().total == 1)
    }
  }

  @Test("17: attempts are stored, and end")
  func pain17() async throws {
    try await withDatabaseFile { file in
      var id = JobID(rawValue: 0)
      for launch in 1...3 {
        let harness = try Harness(.file(file))
        try await harness.queue.register(Count.self) { _, context async throws in
          #expect(context.attempt == launch)
          #expect(context.isLastAttempt == (launch == 3))
          throw TestFailure()
        }
        if launch == 1 {
          id = try await harness.queue.enqueue(
            Count(number: 1), options: JobOptions(maxAttempts: 3, backoff: .constant(.seconds(5), jitter: .none)))
        } else {
          harness.clock.advance(by: .seconds(6 * launch))
        }
        harness.queue.start()
        try await until(try await harness.queue.job(id)?.attempts == launch)
        await harness.queue.stop()
        #expect(try await harness.queue.job(id)?.state == (launch == 3 ? .dead : .scheduled))
      }
    }
  }
}
