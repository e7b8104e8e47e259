import Foundation

/// The times of periodic jobs that took place.
extension SQLiteStore {
  /// Notes that a time takes place. Returns false if it has before: the clock was set back, and
  /// reached the time again.
  func takesPlace(_ name: String, _ schedule: JobSchedule, at time: Int64) throws -> Bool {
    let before = try run(
      of: name, at: time,
      statement(
        "SELECT first, last FROM durable_occurrences WHERE name = ? AND first <= ? ORDER BY first DESC LIMIT 1"))
    let after = try run(
      of: name, at: time,
      statement("SELECT first, last FROM durable_occurrences WHERE name = ? AND first > ? ORDER BY first LIMIT 1"))
    guard let (grown, joined) = OccurrenceRun.adding(time, between: before, and: after, schedule) else { return false }
    for run in joined { try forget(run, of: name) }
    try connection.execute(
      "INSERT INTO durable_occurrences (name, first, last) VALUES (?, ?, ?)",
      [.text(name), .integer(grown.first), .integer(grown.last)])
    if grown.first == grown.last { try forgetOldRuns(of: name) }
    return true
  }

  /// Earlier times say nothing about another schedule.
  func forgetOccurrences(of name: String) throws {
    try connection.execute("DELETE FROM durable_occurrences WHERE name = ?", [.text(name)])
  }

  private func run(of name: String, at time: Int64, _ select: Statement) throws -> OccurrenceRun? {
    try select.bind(name, at: 1)
    select.bind(time, at: 2)
    return try select.first { OccurrenceRun(first: $0.integer(0), last: $0.integer(1)) }
  }

  private func forget(_ run: OccurrenceRun, of name: String) throws {
    try connection.execute(
      "DELETE FROM durable_occurrences WHERE name = ? AND first = ?", [.text(name), .integer(run.first)])
  }

  private func forgetOldRuns(of name: String) throws {
    try connection.execute(
      """
      DELETE FROM durable_occurrences WHERE number IN (
        SELECT number FROM durable_occurrences WHERE name = ? ORDER BY number DESC LIMIT -1 OFFSET \(OccurrenceRun.remembered))
      """, [.text(name)])
  }
}
