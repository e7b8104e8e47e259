import Foundation
import TestSupport

@testable import DurableOperations

/// A look at the file from outside.
struct Inspection {
  let connection: Connection

  init(_ file: URL, busyTimeout: Duration = .seconds(60)) throws {
    connection = try Connection(path: file.path, busyTimeout: busyTimeout, mustExist: true)
  }

  /// `ok` if the file is sound.
  func integrity() throws -> String {
    try connection.execute("PRAGMA integrity_check").compactMap { $0[0].textValue }.joined(separator: "\n")
  }

  func numbers(_ sql: String) throws -> [Int64] {
    try connection.execute(sql).compactMap { $0[0].integerValue }
  }

  func ids(in state: JobState) throws -> Set<Int64> {
    Set(try numbers("SELECT id FROM durable_jobs WHERE state = \(state.rawValue)"))
  }

  func count(in state: JobState) throws -> Int {
    Int(try numbers("SELECT count(*) FROM durable_jobs WHERE state = \(state.rawValue)")[0])
  }

  /// Whether the counts that are kept are those that there are.
  func hasRightCounts() throws -> Bool {
    try connection.execute(
      """
      SELECT 1 FROM (SELECT kind, state, jobs FROM durable_counts WHERE jobs <> 0 UNION ALL
        SELECT lane >> 2, state, count(*) FROM durable_jobs GROUP BY 1, 2)
      GROUP BY kind, state, jobs HAVING count(*) <> 2
      """
    ).isEmpty
  }

  /// Looks again and again, until something holds.
  func wait(until condition: (Inspection) throws -> Bool) async throws {
    try await until(try condition(self))
  }
}
