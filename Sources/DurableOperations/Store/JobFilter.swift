/// A selection of jobs.
struct JobFilter: Sendable {
  var kind: String?
  var states: Set<JobState>?
}

/// A change of priority; nil for a level that stays.
struct PriorityChange: Sendable {
  var major: Int
  var minor: Int?
}

extension JobFilter {
  /// The filter as a condition of SQL; nil if no job can match.
  ///
  /// - Parameter number: returns the number of a kind; nil if it has none.
  func condition(numberOfKind number: (String) throws -> Int64?) rethrows -> SQL? {
    var conditions: [SQL] = []
    if let kind {
      guard let number = try number(kind) else { return nil }
      let first = JobLane.number(ofKind: number)
      conditions.append("lane BETWEEN \(first) AND \(first + 3)")
    }
    if let states {
      if states.isEmpty { return nil }
      conditions.append("state IN (\(states))")
    }
    return conditions.isEmpty ? "1 = 1" : SQL(joining: conditions, by: " AND ")
  }

  /// Of several jobs with one key in a state, the last; of those without a key, each.
  ///
  /// - Parameter jobs: the name of the table in the statement.
  static func isLastOfItsKey(in state: JobState, _ jobs: SQL, of table: SQL) -> SQL {
    """
    (unique_key IS NULL OR NOT EXISTS (
      SELECT 1 FROM \(table) AS other
      WHERE other.unique_key = \(jobs).unique_key AND other.lane >> 2 = \(jobs).lane >> 2
        AND other.state = \(state) AND other.id > \(jobs).id))
    """
  }
}
