import CompositeOperationsTestKit
import DurableOperations
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct NetworkJobTests {
  @Test func offline_stays_online_runsAtOnce() async throws {
    let network = ManualReachabilityMonitor(isReachable: false)
    let harness = try Harness { $0.networkMonitor = network }
    let seen = EventRecorder<Int>()
    try harness.queue.register(Count.self) { job, _ in BlockOperation { seen.record(job.number) } }
    harness.queue.start()
    await network.wait(forWatchers: 1)
    let id = try await harness.queue.enqueue(
      Count(number: 0), options: JobOptions(priority: .userInitiated, requiresNetwork: true))
    try await harness.queue.enqueue(contentsOf: (1...20).map { Count(number: $0) })
    await seen.wait(forCount: 20)
    #expect(!seen.contains(0))
    #expect(try harness.queue.job(id)?.state == .waiting)
    // The clock stands still: nothing but the network's word has it run.
    network.isReachable = true
    await seen.wait(for: 0)
    try await harness.queue.waitUntilIdle()
    #expect(try harness.queue.job(id)?.state == .done)
    await harness.queue.stop()
  }
}
