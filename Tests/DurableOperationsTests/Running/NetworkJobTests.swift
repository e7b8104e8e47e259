import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

@Suite(.timeLimit(.minutes(30))) struct NetworkJobTests {
  @Test(arguments: Engine.available) func offline_stays_online_runsAtOnce(on engine: Engine) async throws {
    let network = ManualReachabilityMonitor(isReachable: false)
    let harness = try Harness(engine.location()) { $0.networkMonitor = network }
    let seen = EventRecorder<Int>()
    try await harness.queue.register(Count.self) { job, _ in BlockOperation { seen.record(job.number) } }
    harness.queue.start()
    await network.wait(forWatchers: 1)
    let id = try await harness.queue.enqueue(
      Count(number: 0), options: JobOptions(priority: .userInitiated, requiresNetwork: true))
    try await harness.queue.enqueue(contentsOf: (1...20).map { Count(number: $0) })
    await seen.wait(forCount: 20)
    #expect(!seen.contains(0))
    #expect(try await harness.queue.job(id)?.state == .waiting)
    // The clock stands still: nothing but the network's word has it run.
    network.isReachable = true
    await seen.wait(for: 0)
    try await harness.queue.waitUntilIdle()
    #expect(try await harness.queue.job(id)?.state == .done)
    await harness.queue.stop()
  }

  @Test(arguments: Engine.available) func lostWhileTheJobRuns_costsNoAttempt(on engine: Engine) async throws {
    let network = ManualReachabilityMonitor(isReachable: true)
    let harness = try Harness(engine.location()) { $0.networkMonitor = network }
    let started = Gate(), isLost = Gate()
    try await harness.queue.register(Count.self) { _, context async throws in
      started.open()
      await isLost.wait()
      if !network.isReachable { throw TestFailure(text: "no route to host") }
    }
    harness.queue.start()
    let id = try await harness.queue.enqueue(
      Count(number: 1), options: JobOptions(maxAttempts: 1, requiresNetwork: true))
    await started.wait()
    network.isReachable = false
    await until(!harness.queue.core.network.isOnline)
    isLost.open()
    await harness.wait(for: .waiting, of: id)
    #expect(try await harness.queue.job(id)?.attempts == 0)
    #expect(try await harness.queue.job(id)?.lastError?.contains("no route") == true)
    network.isReachable = true
    await harness.wait(for: .done, of: id)
    await harness.queue.stop()
  }
}
