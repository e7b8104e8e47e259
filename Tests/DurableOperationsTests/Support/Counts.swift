@testable import DurableOperations

/// What is kept of how many jobs there are, and what there is.
struct CountedJobs: Equatable, CustomStringConvertible {
  let states: [Int64: [JobState: Int]]

  static func kept(in store: SQLiteStore) throws -> CountedJobs { CountedJobs(states: try store.countsByKind()) }

  static func counted(in connection: Connection) throws -> CountedJobs {
    var states: [Int64: [JobState: Int]] = [:]
    for row in try connection.execute("SELECT lane >> 2, state, count(*) FROM durable_jobs GROUP BY 1, 2") {
      let numbers = row.values.compactMap(\.integerValue)
      states[numbers[0], default: [:]][JobState(rawValue: Int(numbers[1]))!] = Int(numbers[2])
    }
    return CountedJobs(states: states)
  }

  var description: String {
    states.sorted { $0.key < $1.key }.map { kind, states in
      "\(kind): \(states.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.key) \($0.value)" })"
    }.joined(separator: ", ")
  }
}

extension DurableQueue {
  /// Whether there are jobs, and each of them has ended, is held, or waits for another.
  func hasNothingToRun() throws -> Bool {
    let counts = try counts()
    return counts.total > 0 && counts[.waiting] + counts[.scheduled] + counts[.executing] == 0
  }

  /// What is kept, and what there is at the same moment.
  func bothCounts() throws -> (kept: CountedJobs, counted: CountedJobs) {
    try core.reader.withSQLite { store in
      try store.connection.execute("BEGIN")
      defer { _ = try? store.connection.execute("COMMIT") }
      return (try .kept(in: store), try .counted(in: store.connection))
    }
  }
}
