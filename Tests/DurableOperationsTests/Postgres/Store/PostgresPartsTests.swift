#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// What is stored in parts: the server takes only so much at once, and rounds wait meanwhile.
@Suite(.timeLimit(.minutes(30))) struct PostgresPartsTests {
  private static let mebibyte = 1 << 20

  private static func job(of size: Int, _ options: JobOptions = JobOptions()) -> JobRequest {
    let payload = "\"\(String(repeating: "x", count: size - 2))\""
    return JobRequest(kind: "a", version: 1, payload: Data(payload.utf8), options: options, occurrence: nil)
  }

  @Test(
    arguments: [
      (0, 2, []), (1, 2, [1]), (500, 2, [500]), (1200, 2, [500, 500, 200]), (8, mebibyte, [8]),
      (20, mebibyte, [8, 8, 4]), (2, 11 * mebibyte, [1, 1]),
    ] as [(Int, Int, [Int])])
  func parts_haveSoManyJobsOrBytes(count: Int, size: Int, parts: [Int]) throws {
    let jobs = Array(repeating: Self.job(of: size), count: count)
    let cut = try PostgresStore.parts(of: jobs)
    #expect(cut.map(\.count) == parts)
    #expect(cut.flatMap(\.indices) == Array(0..<count))
  }

  @Test(.needsPostgres, arguments: [false, true]) func largeJobs_areStoredInTheirOrder(haveKeys: Bool) throws {
    let harness = try StoreHarness(on: .postgres)
    let sizes = (0..<20).map { Self.mebibyte - $0 }
    let ids = try harness.enqueue(
      all: sizes.map { size in
        Self.job(of: size, haveKeys ? JobOptions(uniqueKey: UniqueKey("\(size)")) : JobOptions())
      })
    let stored = try harness.session { session in try ids.map { try session.record($0)?.payload.count } }
    #expect(stored == sizes)
  }

  @Test(.needsPostgres) func batchesOfManyCalls_eachGetsItsNumbers() throws {
    let harness = try StoreHarness(on: .postgres)
    let batches = (0..<1000).map { Array(repeating: StoreHarness.job(), count: $0 % 3) }
    let answers = try harness.session { try $0.enqueue(batches).map { try $0.get() } }
    #expect(answers.map(\.count) == batches.map(\.count))
    let ids = answers.flatMap(\.self)
    #expect(ids == ids.sorted() && Set(ids).count == ids.count)
  }

  @Test(.needsPostgres) func timesOfPeriodicJobs_comeInSeveralLooks() throws {
    let harness = try StoreHarness(on: .postgres)
    let start = harness.now
    for name in ["a", "b"] {
      let schedule = JobSchedule.interval(.seconds(1), startingAt: Date(milliseconds: start))
      try harness.session { try $0.schedule(StoreHarness.job(), named: name, schedule, .all) }
    }
    harness.setDate(start + 120_000)
    let looks = try (0..<4).map { _ in
      try harness.session { try $0.enqueueOccurrences().enqueued.compactMap(\.occurrence) }
    }
    #expect(looks.map(\.count) == [100, 100, 40, 0])
    let times = (1...120).map { start + $0 * 1000 }
    #expect(looks.flatMap(\.self) == times + times)
  }
}
#endif
