#if os(macOS) || os(Linux)
import CompositeOperations
import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// A server that is restarted, in good order or as after a crash, while queues work.
@Suite(.timeLimit(.minutes(30)), .needsPostgres) struct PostgresRestartTests {
  @Test func serverIsRestartedUnderLoad_losesAndRepeatsNothing() async throws {
    let server = try await PostgresServer.own()
    let schema = try await TestSchema(on: server)
    var configuration = DurableQueue.Configuration()
    configuration.pollInterval = .milliseconds(20)
    configuration.leaseDuration = .seconds(1200)
    configuration.busyTimeout = .seconds(1200)
    configuration.retention = .forever
    let location = schema.location()
    let queues = try await onWorker { [configuration] in
      Result { try (0..<2).map { _ in try DurableQueue(location: location, configuration: configuration) } }
    }.get()
    let runs = Locked<[JobID: Int]>([:]), stored = Locked<[Int: JobID]>([:]), isOver = Flag(),
      unexpected = Locked<[String]>([])
    for queue in queues {
      try await queue.register(Count.self) { job, context async throws in
        let count = runs.withLock { runs in
          runs[context.id, default: 0] += 1
          return runs[context.id] ?? 0
        }
        if job.number.isMultiple(of: 5), count == 1 { throw TestFailure() }
      }
      queue.start()
    }
    let restarts = Scale.count(8, least: 0) + 2
    await withTaskGroup(of: Void.self) { group in
      for (number, queue) in queues.enumerated() {
        group.addTask {
          var key = number
          while !isOver.isSet {
            key += queues.count
            let id = await Self.store(key, in: queue) { text in unexpected.withLock { $0.append(text) } }
            stored.withLock { $0[key] = id }
          }
        }
      }
      group.addTask {
        for restart in 0..<restarts {
          // As much again has to be stored between two of them.
          let count = stored.withLock { $0.count } + 30
          await until(stored.withLock { $0.count } >= count)
          do { try await server.restart(immediate: restart.isMultiple(of: 2)) } catch {
            unexpected.withLock { $0.append("\(error)") }
          }
        }
        isOver.set()
      }
    }
    let inspection = try await schema.inspection()
    try await inspection.wait { try $0.count(in: .done) == $0.number("SELECT count(*) FROM jobs") }
    for queue in queues { await queue.stop() }
    #expect(unexpected.current == [])
    #expect(try inspection.problems() == [])
    let ids = stored.withLock { Set($0.values.map(\.rawValue)) }
    #expect(try inspection.ids(in: .done) == ids, "each key is stored once")
    for id in ids {
      let attempts = try inspection.number("SELECT attempts FROM jobs WHERE id = \(id)")
      #expect(runs.withLock { $0[JobID(rawValue: id)] } == Int(attempts), "\(id)")
    }
    print("FIGURES \(restarts) restarts, \(ids.count) jobs, \(runs.withLock { $0.values.reduce(0, +) }) attempts")
  }

  /// Stores a job with a key, again and again until it is there.
  private static func store(
    _ number: Int, in queue: DurableQueue, _ note: (String) -> Void
  ) async -> JobID? {
    var options = JobOptions(backoff: .noDelay)
    options.uniqueKey = UniqueKey("\(number)", by: Set(JobState.allCases))
    var turns = Turns()
    while true {
      do {
        return try await queue.enqueue(Count(number: number), options: options)
      } catch let error as JobError where error.code == .duplicate {
        return error.otherJob
      } catch let error as DatabaseError
        where [.connectionLost, .cannotConnect, .outcomeUnknown].contains(error.code)
      {
        await turns.next()
      } catch {
        note("\(error)")
        return nil
      }
    }
  }
}
#endif
