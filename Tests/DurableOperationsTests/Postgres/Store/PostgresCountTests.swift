#if os(macOS) || os(Linux)
import TestSupport
import Testing

@testable import DurableOperations

/// The number of jobs on a server, which no table keeps.
@Suite(.needsPostgres, .timeLimit(.minutes(30))) struct PostgresCountTests {
  private let harness: StoreHarness
  private let kinds: [Int64]

  init() throws {
    harness = try StoreHarness(on: .postgres)
    kinds = try harness.session { session in try ["a", "b", "c"].map { try session.number(ofKind: $0) } }
  }

  private func fill(_ state: JobState, _ count: Int, kind: Int) throws {
    _ = try harness.execute(
      """
      INSERT INTO jobs (lane, state, major, minor, enqueued_at, version, payload, run_at, finished_at)
      SELECT \(JobLane.number(ofKind: kinds[kind])), \(state.rawValue), 10, 10, 1, 1, '{}', n, n
      FROM generate_series(1, \(count)) AS n
      """)
  }

  @Test func upToAHundredThousandJobs_areCounted() throws {
    try fill(.done, 60_000, kind: 0)
    try fill(.waiting, 30_000, kind: 1)
    _ = try harness.execute("ANALYZE jobs")
    let counts = try harness.counts()
    #expect(!counts.isApproximate)
    #expect(counts["a"]?.states == [.done: 60_000] && counts["b"]?.states == [.waiting: 30_000])
    #expect(counts["c"] == nil)
  }

  @Test func moreJobs_areEstimated_andStatesWithFewAreCounted() throws {
    try fill(.done, 120_000, kind: 0)
    try fill(.waiting, 40_000, kind: 1)
    for (state, count) in [(.dead, 3), (.held, 2), (.blocked, 5), (.cancelled, 4), (.scheduled, 15_000)]
      as [(JobState, Int)]
    {
      try fill(state, count, kind: 1)
    }
    // What is counted in an index with it has as many, and is not.
    try fill(.cancelled, 1, kind: 0)
    _ = try harness.execute("ANALYZE jobs")
    let counts = try harness.counts()
    #expect(counts.isApproximate)
    let done = counts["a"]?[.done] ?? 0, waiting = counts["b"]?[.waiting] ?? 0
    // Each of the pages that are read is as probable as any other.
    #expect((90_000...150_000).contains(done) && (30_000...50_000).contains(waiting), "\(done), \(waiting)")
    #expect(counts["a"]?.states.filter { $0.key != .done } == [.cancelled: 1])
    #expect(
      counts["b"]?.states.filter { $0.key != .waiting }
        == [.dead: 3, .held: 2, .blocked: 5, .cancelled: 4, .scheduled: 15_000])
    // It may have jobs that are not seen.
    #expect(counts["c"]?.total == 0)
  }

  @Test func manyPages_withFewJobs_areCountedExactly() throws {
    try fill(.done, 150_000, kind: 0)
    try fill(.done, 7, kind: 1)
    try fill(.dead, 2, kind: 1)
    _ = try harness.execute("ANALYZE jobs")
    _ = try harness.execute("DELETE FROM jobs WHERE lane = \(JobLane.number(ofKind: kinds[0]))")
    let counts = try harness.counts()
    #expect(!counts.isApproximate)
    #expect(counts.kinds.filter { $0.total > 0 }.map(\.states) == [[.done: 7, .dead: 2]])
  }
}
#endif
