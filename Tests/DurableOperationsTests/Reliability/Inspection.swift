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

  /// Looks again and again, until something holds.
  func wait(until condition: (Inspection) throws -> Bool) async throws {
    while try !condition(self) { await Task.yield() }
  }
}
