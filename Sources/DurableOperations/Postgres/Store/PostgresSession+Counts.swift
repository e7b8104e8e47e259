#if os(macOS) || os(Linux)
import CompositeOperations

// The numbers of jobs. A server does not keep them: transactions that change them would wait for
// each other.

extension PostgresSession {
  /// Up to this number all jobs are counted.
  private static let mostOfAll = 100_000
  /// Above it, the jobs of a state are counted up to this number.
  private static let mostOfState = 20_000
  /// How many pages of the table are read instead of all.
  private static let pagesOfSample = 1000.0

  func counts(registered: [String]) throws -> JobCounts {
    var places = (kinds: 0, size: 0)
    let results = try read { pipeline in
      places.kinds = pipeline.add(
        statement("all_kinds", "SELECT id, name, paused, max_concurrent FROM \(schema).kinds"))
      places.size = try pipeline.add(statement("size_of_jobs", Self.sizeOfJobs)) { try $0.bind("\(schema.text).jobs") }
    }
    let size = results[places.size].row(0)
    let counted =
      try size.integer(0) <= Self.mostOfAll
      ? (states: allCounts(), isApproximate: false) : approximateCounts(pages: Double(size.integer(1)))
    let kinds = results[places.kinds].map { row in
      let limit = row.optionalInteger(3).map { Int(clamping: $0) }
      return (row.text(1) ?? "", row.bool(2), limit, counted.states[row.integer(0)] ?? [:]) as JobCounts.StoredKind
    }
    return JobCounts(kinds, registered: registered, isApproximate: counted.isApproximate)
  }

  private func allCounts() throws -> [Int64: [JobState: Int]] {
    var states: [Int64: [JobState: Int]] = [:]
    try read("counts", "SELECT lane >> 2, state, pg_catalog.count(*) FROM \(schema).jobs GROUP BY 1, 2").forEachRow {
      row in
      guard let state = JobState(rawValue: Int(clamping: row.integer(1))) else { return }
      states[row.integer(0), default: [:]][state] = Int(row.integer(2))
    }
    return states
  }

  /// Counts states with few jobs, and estimates the others from some pages of the table, all at one
  /// moment.
  ///
  /// - Parameter pages: the number of pages of the table.
  func approximateCounts(pages: Double) throws -> (states: [Int64: [JobState: Int]], isApproximate: Bool) {
    let share = min(Self.pagesOfSample / max(pages, 1), 1)
    var counted: [JobState: [Int64: Int]] = [:], seen = counted
    try read("approximate_counts", Self.approximateCounts(schema)) { try $0.bind(String(share * 100)) }
      .forEachRow { row in
        guard let state = JobState(rawValue: Int(clamping: row.integer(1))) else { return }
        if row.bool(0) {
          seen[state, default: [:]][row.integer(2)] = Int(Double(row.integer(3)) / share)
        } else {
          counted[state, default: [:]][row.integer(2)] = Int(row.integer(3))
        }
      }
    func isComplete(_ states: JobState...) -> Bool {
      states.reduce(0) { $0 + (counted[$1]?.values.reduce(0, +) ?? 0) } <= Self.mostOfState
    }
    var (states, isApproximate) = ([Int64: [JobState: Int]](), false)
    for state in JobState.allCases {
      var numbers = counted[state] ?? [:]
      // Done jobs share an index with cancelled ones.
      if state == .done ? !isComplete(.done, .cancelled) : !isComplete(state) {
        isApproximate = true
        numbers.merge(seen[state] ?? [:]) { max($0, $1) }
      }
      for (kind, number) in numbers { states[kind, default: [:]][state] = number }
    }
    return (states, isApproximate)
  }

  /// Estimates the number of jobs and of their pages. As long as the server has not counted them, a
  /// page has 30.
  private static let sizeOfJobs: SQL =
    """
    SELECT CASE WHEN reltuples < 0 OR relpages = 0 THEN pages * 30 ELSE reltuples / relpages * pages END::bigint, pages
    FROM (SELECT reltuples, relpages,
        pg_catalog.pg_relation_size(oid) / pg_catalog.current_setting('block_size')::bigint AS pages
      FROM pg_catalog.pg_class WHERE oid = $1::text::pg_catalog.regclass) AS size
    """

  private static func approximateCounts(_ schema: SQL) -> SQL {
    func some(_ condition: SQL) -> SQL {
      "(SELECT state, lane FROM \(schema).jobs WHERE \(condition) LIMIT \(mostOfState + 1))"
    }
    let each: [SQL] = [
      some("state = \(.waiting)"), some("state = \(.scheduled)"), some("state = \(.executing)"),
      some("state = \(.blocked)"), some("state = \(.held)"), some("state = \(.dead)"),
      some("state = \(.cancelled)"),
    ]
    return """
      SELECT false, state, lane >> 2, pg_catalog.count(*) FROM (\(SQL(joining: each, by: " UNION ALL "))) AS few GROUP BY 2, 3
      UNION ALL
      SELECT false, state, lane >> 2, pg_catalog.count(*) FROM \(some("state IN (\(.cancelled, .done))")) AS ended
        WHERE state = \(.done) GROUP BY 2, 3
      UNION ALL
      SELECT true, state, lane >> 2, pg_catalog.count(*) FROM \(schema).jobs TABLESAMPLE SYSTEM ($1::text::float8) GROUP BY 2, 3
      """
  }
}
#endif
