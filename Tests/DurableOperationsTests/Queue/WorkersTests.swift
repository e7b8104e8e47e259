import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// What a queue reports about the processes that run its jobs.
@Suite(.timeLimit(.minutes(30))) struct WorkersTests {
  @Test(arguments: Engine.available) func queueWithoutWork_hasNoWorkers(on engine: Engine) async throws {
    let queue = try DurableQueue(location: engine.location())
    try await queue.enqueue(Count(number: 1))
    #expect(try await queue.workers() == [])
  }

  @Test(arguments: Engine.available) func processThatRunsJobs_isAWorkerWithThem(on engine: Engine) async throws {
    let queue = try DurableQueue(location: engine.location())
    let (gate, seen) = (Gate(), EventRecorder<String>())
    try await queue.register(Send.self) { (mail: Send, _: JobContext) async throws in
      seen.record(mail.text)
      await gate.wait()
    }
    let ids = try await queue.enqueue(contentsOf: [Send(text: "a"), Send(text: "b")])
    let waiting = try await queue.enqueue(Count(number: 1))
    queue.start()
    await seen.wait(for: "a")
    await seen.wait(for: "b")
    let workers = try await queue.workers()
    let worker = try #require(workers.first)
    #expect(workers.count == 1)
    #expect(worker.processID == Int64(ProcessInfo.processInfo.processIdentifier))
    #expect(worker.isOnThisMachine)
    #expect(worker.liveness == .alive)
    #expect(worker.jobs == ids)
    #expect(worker.runningJobs.map(\.kind) == ["send", "send"])
    #expect(!worker.jobs.contains(waiting))
    for job in worker.runningJobs { #expect(job.startedAt == (try await queue.job(job.id))?.startedAt) }
    #expect(worker.leaseLeft > .zero)
    #expect(worker.leaseEnd > (try #require(worker.runningJobs[0].startedAt)))
    #if !canImport(Darwin)
    #expect(worker.hostName == ProcessIdentity.current.hostName)
    #endif
    #expect(try blockingWorkers(of: queue).map(\.id) == workers.map(\.id))
    gate.open()
    await queue.stop()
    #expect(try await queue.workers() == [])
  }

  private func blockingWorkers(of queue: DurableQueue) throws -> [JobWorker] { try queue.workers() }

  /// The rows that processes of other machines, and killed ones, have left.
  @Test(arguments: Engine.available) func workersOfOthers_areToldWithWhatIsKnownOfThem(on engine: Engine) async throws {
    let location = try engine.location()
    let harness = try Harness(location)
    let queue = harness.queue
    let ids = try await queue.enqueue(contentsOf: (0..<3).map { Count(number: $0) })
    let now = harness.start.milliseconds
    var (dead, elsewhere) = (ProcessIdentity.current, ProcessIdentity.current)
    dead.startTime += 1
    elsewhere.hostName = "worker-7"
    let namespace = ProcessIdentity.current.pidNamespace ?? ""
    let stored = [(dead, now - 1000), (elsewhere, now + 5000)]
    try await queue.transaction { db in
      for (identity, lease) in stored {
        try db.execute(
          """
          INSERT INTO \(engine.table("workers")) (boot, namespace, host, process, started, lease, lease_until)
          VALUES (?, ?, ?, ?, ?, 30000, ?)
          """,
          [
            .text(identity.bootID), .text(namespace), .text(identity.hostName), .integer(identity.processID),
            .integer(identity.startTime), .integer(lease),
          ])
      }
      for (id, worker) in [(ids[0], 1), (ids[2], 1)] {
        try db.execute(
          "UPDATE \(engine.table("jobs")) SET state = 3, worker = \(worker), started_at = \(now - 7) WHERE id = ?",
          [.integer(id.rawValue)])
      }
    }
    let workers = try await queue.workers()
    #expect(workers.map(\.id) == [1, 2])
    #expect(workers.map(\.liveness) == [.dead, .unknown])
    #expect(workers.map(\.isOnThisMachine) == [true, false])
    #expect(workers[1].hostName == "worker-7")
    #expect(workers.map(\.leaseLeft) == [.seconds(-1), .seconds(5)])
    #expect(workers.map(\.leaseEnd) == [harness.start - 1, harness.start + 5])
    #expect(workers[0].jobs == [ids[0], ids[2]])
    #expect(workers[0].runningJobs.map(\.startedAt) == [harness.start - 0.007, harness.start - 0.007])
    #expect(workers[1].jobs == [])
  }
}
