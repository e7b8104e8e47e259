import CompositeOperations
import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// A file shrinks on request, and nothing is lost.
@Suite(.timeLimit(.minutes(30))) struct CompactTests {
  private func size(_ file: URL) -> Int {
    ["", "-wal"].reduce(0) { sum, end in
      sum + ((try? FileManager.default.attributesOfItem(atPath: file.path + end))?[.size] as? Int ?? 0)
    }
  }

  /// A queue on a file from which many jobs were deleted; a few are left.
  private func emptied(_ file: URL, jobs: Int, busyTimeout: Duration = .seconds(60)) async throws -> (
    DurableQueue, [JobID]
  ) {
    var configuration = DurableQueue.Configuration()
    configuration.durability = .normal
    configuration.busyTimeout = busyTimeout
    let queue = try DurableQueue(location: .file(file), configuration: configuration)
    let text = String(repeating: "x", count: 100)
    let ids = try await queue.enqueue(contentsOf: (0..<jobs).map { Send(text: "\($0)\(text)") })
    let kept = ids.enumerated().filter { $0.offset % 1000 == 7 }.map(\.element)
    for id in kept { try await queue.hold(id) }
    try await queue.deleteAll(in: [.waiting])
    return (queue, kept)
  }

  @Test func compact_afterManyJobsWereDeleted_shrinksTheFile_andKeepsTheOthers() async throws {
    try await withDatabaseFile { file in
      let (queue, kept) = try await emptied(file, jobs: 20_000)
      let other = try DurableQueue.patient(file)
      let before = size(file)
      let freed = try await queue.compact()
      #expect(size(file) == before - freed)
      #expect(size(file) * 10 < before, "\(before) \(size(file))")
      #expect(try await queue.jobs().map(\.id) == kept)
      #expect(try await other.jobs().map(\.id) == kept)
      // Numbers are not given twice.
      #expect(try await other.enqueue(Send(text: "next")).rawValue == 20_001)
      #expect(try await queue.compact() >= 0)
    }
  }

  @Test func compact_whileAnotherConnectionReads_isBusy() async throws {
    try await withDatabaseFile { file in
      let (queue, kept) = try await emptied(file, jobs: 3000, busyTimeout: .milliseconds(50))
      let reader = try Connection(path: file.path, busyTimeout: .seconds(60), mustExist: true)
      try reader.execute("BEGIN; SELECT count(*) FROM durable_jobs")
      // Something it does not see yet, which is in the log therefore.
      try await queue.retry(kept[0])
      let before = try await queue.jobs()
      await #expect { try await queue.compact() } throws: { error in
        (error as? DatabaseError)?.code == .busy && "\(error)".contains("it was not compacted")
      }
      #expect(try await queue.jobs() == before)
      try reader.execute("COMMIT")
      #expect(try await queue.compact() > 0)
      #expect(try await queue.jobs().map(\.id) == kept)
    }
  }

  @Test func compact_whileAnotherConnectionWrites_isBusy() async throws {
    try await withDatabaseFile { file in
      let (queue, kept) = try await emptied(file, jobs: 3000, busyTimeout: .milliseconds(50))
      let writer = try Connection(path: file.path, busyTimeout: .seconds(60), mustExist: true)
      try writer.execute("BEGIN IMMEDIATE")
      await #expect { try await queue.compact() } throws: { ($0 as? DatabaseError)?.code == .busy }
      try writer.execute("COMMIT")
      #expect(try await queue.compact() > 0)
      #expect(try await queue.jobs().map(\.id) == kept)
    }
  }

  @Test func compact_whileJobsRun_losesNone() async throws {
    try await withDatabaseFile { file in
      let (queue, kept) = try await emptied(file, jobs: 3000)
      let other = try DurableQueue.patient(file)
      let began = Flag()
      for queue in [queue, other] {
        try await queue.register(Count.self, maxConcurrent: 2) { _, _ in BlockOperation { began.set() } }
        queue.start()
      }
      let ids = try await queue.enqueue(contentsOf: (0..<300).map { Count(number: $0) })
      await until(began.isSet)
      try await queue.compact()
      try await queue.waitUntilIdle()
      await queue.stop()
      await other.stop()
      #expect(try ids.allSatisfy { try queue.job($0)?.state == .done })
      #expect(try await queue.jobs(in: [.held]).map(\.id) == kept)
    }
  }

  /// It waits for a reader here; a large file on a slow disk takes as long.
  @Test func compact_thatTakesLong_losesNoLease() async throws {
    try await withDatabaseFile { file in
      let clock = ManualClock(), started = Gate(), released = Gate(), runs = EventRecorder<JobID>()
      // A busy machine may need minutes for what follows, all of which compacting has to wait for.
      let harness = try Harness(.file(file), clock: clock) { $0.busyTimeout = .seconds(600) }, queue = harness.queue
      // The same clock for both: their leases are of one machine.
      let other = try Harness(.file(file), clock: clock) {
        $0.clock = queue.core.configuration.clock
        $0.busyTimeout = .milliseconds(10)
      }.queue
      for queue in [queue, other] {
        try await queue.register(Count.self) { _, context async throws in
          runs.record(context.id)
          started.open()
          await released.wait()
        }
      }
      queue.start()
      let id = try await queue.enqueue(Count(number: 1))
      await started.wait()
      other.start()
      let inspection = try Inspection(file)
      try inspection.connection.execute("BEGIN; SELECT count(*) FROM durable_jobs")
      // Something that the reader does not see, so that it is waited for.
      try await queue.hold(queue.enqueue(Count(number: 2), options: JobOptions(startsHeld: true)))
      async let freed = queue.compact()
      let lease = try Inspection(file)
      try await lease.wait { try $0.numbers("SELECT max(lease) FROM durable_workers")[0] > 120_000 }
      // As long as it takes, the others see nothing of this process.
      for _ in 0..<100 {
        clock.advance(by: .seconds(1))
        await other.hasLookedAround()
      }
      try inspection.connection.execute("COMMIT")
      _ = try await freed
      #expect(try lease.numbers("SELECT lease FROM durable_workers") == [60_000])
      for _ in 0..<3 {
        clock.advance(by: .seconds(1))
        await other.hasLookedAround()
      }
      released.open()
      #expect(try await queue.waitUntilSettled(id)?.crashes == 0)
      #expect(runs.events == [id], "it ran again")
      await queue.stop()
      // Not the other: a round of it that found the file locked may wait for the time to go on.
    }
  }

  @Test func compact_inMemory_orInsideATransaction() async throws {
    let queue = try DurableQueue(location: .memory)
    #expect(try await queue.compact() == 0)
    let found = Recorded()
    try await queue.transaction { _ in found.reason = jobErrorReason { _ = try queue.compact() } }
    #expect(found.reason == .insideTransaction)
  }

  @Test func compact_ofAFileThatIsOnlyRead_isRefused() async throws {
    try await withDatabaseFile { file in
      _ = try await emptied(file, jobs: 1000)
      // The queue closes the file on another thread, which locks it meanwhile.
      await until(!FileManager.default.fileExists(atPath: file.path + "-wal"))
      let queue = try DurableQueue(location: .readOnlyFile(file))
      await #expect { try await queue.compact() } throws: { ($0 as? DatabaseError)?.code == .readOnly }
    }
  }

  #if os(macOS) || os(Linux)
  /// No file of the process may become larger: as on a disk that is full.
  @Test func compact_withoutRoom_isAnError_andLosesNothing() async throws {
    await #expect(processExitsWith: .success) {
      signal(SIGXFSZ, SIG_IGN)
      try await withDatabaseFile { file in
        let queue = try DurableQueue.patient(file)
        let ids = try await queue.enqueue(contentsOf: (0..<3000).map { Count(number: $0) })
        for id in ids.prefix(300) { try await queue.delete(id) }
        _ = try await queue.compact()
        for id in ids.prefix(600).dropFirst(300) { try await queue.delete(id) }
        let left = try await queue.jobs(limit: .max)
        let before = limitFileSize(to: 100_000)
        let code = databaseErrorCode { _ = try queue.compact() as Int }
        limitFileSize(to: before)
        guard code == .diskFull || code == .inputOutput else { throw TestFailure(text: "\(String(describing: code))") }
        guard try await queue.jobs(limit: .max) == left else { throw TestFailure(text: "other jobs are left") }
        guard try await queue.compact() > 0, try await queue.jobs(limit: .max) == left else { throw TestFailure() }
      }
    }
  }
  #endif
}

#if os(macOS) || os(Linux)
/// How large a file of this process may become. Returns what it was before.
@discardableResult
private func limitFileSize(to size: rlim_t) -> rlim_t {
  var limit = rlimit()
  #if canImport(Darwin)
  let resource = RLIMIT_FSIZE
  #else
  let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
  #endif
  getrlimit(resource, &limit)
  let before = limit.rlim_cur
  limit.rlim_cur = size
  setrlimit(resource, &limit)
  return before
}
#endif

private final class Recorded: @unchecked Sendable {  // set on the thread that reads it later
  var reason: JobError.Reason?
}
