import CompositeOperations
import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// How many jobs of a kind execute at once in all queues together.
@Suite(.timeLimit(.minutes(30))) struct LimitTests {
  /// Several queues that share a place.
  private func withQueues(
    _ count: Int, on engine: Engine, _ configuration: DurableQueue.Configuration = DurableQueue.Configuration(),
    _ body: ([DurableQueue]) async throws -> Void
  ) async throws {
    try await withDatabaseFile { file in
      let location = engine == .sqlite ? .file(file) : try engine.location()
      var configuration = configuration
      configuration.busyTimeout = .seconds(1200)
      try await body((0..<count).map { _ in try DurableQueue(location: location, configuration: configuration) })
    }
  }

  @Test(arguments: Engine.available) func limited_noMoreExecuteInAllQueues(on engine: Engine) async throws {
    try await withQueues(3, on: engine) { queues in
      let gauge = ConcurrencyGauge(), ran = EventRecorder<Int>()
      for queue in queues {
        try await queue.register(Count.self) { job, _ async throws in
          gauge.enter()
          for _ in 0..<50 { await Task.yield() }
          gauge.leave()
          ran.record(job.number)
        }
      }
      try await queues[0].limit(kind: "count", to: 2)
      try await queues[0].enqueue(contentsOf: (0..<60).map { Count(number: $0) })
      for queue in queues { queue.start() }
      await ran.wait(forCount: 60)
      for queue in queues { await queue.stop() }
      #expect(gauge.maximum <= 2)
      #expect(Set(ran.events) == Set(0..<60) && ran.count == 60)
    }
  }

  @Test(arguments: Engine.available) func limitIsReached_theNextStartsWhenOneEnds(on engine: Engine) async throws {
    let queue = try DurableQueue(location: engine.location())
    let operations = (0..<3).map { _ in HeldOperation<Void>() }, other = EventRecorder<Int>()
    try await queue.register(Count.self) { job, _ in operations[job.number] }
    try await queue.register(Send.self) { _, _ async throws in other.record(1) }
    try await queue.limit(kind: "count", to: 1)
    try await queue.enqueue(contentsOf: (0..<3).map { Count(number: $0) })
    try await queue.enqueue(Send(text: "another kind"))
    queue.start()
    await other.wait(forCount: 1)
    for operation in operations {
      await operation.started.wait()
      let counts = try await queue.counts()["count"]
      #expect(counts?[.executing] == 1 && counts?.limit == 1)
      operation.finish()
    }
    try await queue.waitUntilIdle()
    await queue.stop()
  }

  @Test(arguments: Engine.available) func limitIsLifted_othersStartBesideTheFirst(on engine: Engine) async throws {
    let queue = try DurableQueue(location: engine.location())
    let operations = (0..<2).map { _ in HeldOperation<Void>() }
    try await queue.register(Count.self) { job, _ in operations[job.number] }
    try await queue.limit(kind: "count", to: 1)
    try await queue.enqueue(contentsOf: (0..<2).map { Count(number: $0) })
    queue.start()
    await operations[0].started.wait()
    try await queue.limit(kind: "count", to: nil)
    await operations[1].started.wait()
    #expect(try await queue.counts()["count"]?.limit == nil)
    for operation in operations { operation.finish() }
    await queue.stop()
  }

  @Test(arguments: Engine.available) func limitIsSetElsewhere_holdsForWhatIsClaimedFromThenOn(
    on engine: Engine
  ) async throws {
    try await withQueues(2, on: engine) { queues in
      let gauge = ConcurrencyGauge(), operations = (0..<6).map { _ in HeldOperation<Void>() }
      try await queues[0].register(Count.self) { job, _ in
        gauge.enter()
        return operations[job.number]
      }
      queues[0].start()
      try await queues[1].limit(kind: "count", to: 1)
      try await queues[1].enqueue(contentsOf: (0..<6).map { Count(number: $0) })
      for operation in operations {
        await operation.started.wait()
        #expect(gauge.current == 1)
        gauge.leave()
        operation.finish()
      }
      await queues[0].stop()
    }
  }

  #if os(macOS) || os(Linux)
  /// Queues that never look: what others do they only hear.
  @Test(.needsPostgres) func jobEndsInAnotherProcess_theNextStartsHereAtOnce() async throws {
    var configuration = DurableQueue.Configuration()
    configuration.pollInterval = nil
    try await withQueues(2, on: .postgres, configuration) { queues in
      let operations = (0..<2).map { _ in HeldOperation<Void>() }
      for queue in queues { try await queue.register(Count.self) { job, _ in operations[job.number] } }
      try await queues[0].limit(kind: "count", to: 1)
      try await queues[0].enqueue(Count(number: 0))
      queues[0].start()
      await operations[0].started.wait()
      queues[1].start()
      try await queues[1].enqueue(Count(number: 1))
      async let stopped: Void = queues[0].stop()
      await queues[1].hasPumped { $0.rules.limits.count == 1 && !$0.isInRound }
      #expect(try await queues[1].counts()["count"]?[.executing] == 1)
      operations[0].finish()
      await stopped
      await operations[1].started.wait()
      operations[1].finish()
      await queues[1].stop()
    }
  }
  #endif
}
