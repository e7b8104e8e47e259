#if os(macOS) || os(Linux)
import Foundation
import TestSupport

@testable import DurableOperations

/// Where processes store their jobs that are killed: a file, or a schema of a server.
struct KilledPlace: Sendable {
  /// A look at it from outside.
  struct Look {
    /// What does not fit together.
    let problems: [String]
    /// All jobs, by their states.
    let jobs: [Int64: Int64]
    /// The jobs that were acknowledged once, and are done.
    let doneOnce: Set<Int64>
    /// How many workers there are.
    let workers: Int64

    func ids(in state: JobState) -> Set<Int64> { Set(jobs.filter { $0.value == state.number }.keys) }
  }

  /// How the program is told of it.
  let arguments: [String]
  /// How many microseconds a process lives at most: a server is not open at once.
  let longestLife: Int
  /// Nil if nothing is there yet.
  let look: @Sendable () throws -> Look?

  /// - Parameter folder: of the test alone.
  init(_ engine: Engine, in folder: URL) async throws {
    switch engine {
    case .sqlite:
      let file = folder.appending(path: "jobs.sqlite")
      arguments = ["file=\(file.path)"]
      longestLife = 400_000
      look = { try Self.look(at: file) }
    case .postgres:
      let schema = try await TestSchema()
      arguments = schema.arguments()
      longestLife = 1_000_000
      look = { try Self.look(at: SchemaInspection(schema.url(), schema: schema.name)) }
    }
  }

  private static func look(at file: URL) throws -> Look? {
    guard FileManager.default.fileExists(atPath: file.path) else { return nil }
    let inspection = try Inspection(file)
    let integrity = try inspection.integrity()
    var problems = integrity == "ok" ? [] : [integrity]
    guard try inspection.numbers("SELECT count(*) FROM sqlite_master WHERE name = 'durable_jobs'") == [1] else {
      return Look(problems: problems, jobs: [:], doneOnce: [], workers: 0)
    }
    if try !inspection.hasRightCounts() { problems.append("the counts are wrong") }
    return try look(problems, table: "durable_jobs", workers: "durable_workers", inspection.numbers)
  }

  private static func look(at schema: SchemaInspection) throws -> Look? {
    guard try schema.isMade() else { return nil }
    return try look(try schema.problems(), table: "jobs", workers: "workers", schema.numbers)
  }

  private static func look(
    _ problems: [String], table: String, workers: String, _ numbers: (String) throws -> [Int64]
  ) throws -> Look {
    // Of one moment.
    let states = try numbers("SELECT id * 10 + state FROM \(table)")
    return Look(
      problems: problems,
      jobs: Dictionary(states.map { ($0 / 10, $0 % 10) }, uniquingKeysWith: { $1 }),
      doneOnce: Set(try numbers("SELECT id FROM \(table) WHERE state = \(JobState.done.number) AND attempts = 1")),
      workers: try numbers("SELECT count(*) FROM \(workers)")[0])
  }
}
#endif
