import Foundation

/// Which times of periodic jobs took place, as runs of times that follow each other: as long as the clock only goes on and
/// no time is left out, a periodic job has one run, however long it lives. A clock that is set adds at most one, and so does each
/// gap: with `.latest`, the times that passed while nothing ran.
///
/// A time that was left out is in no run: if the clock goes back, it takes place.
extension SQLiteStore {
  /// A run of times that took place, one after the other: both ends belong to it.
  private struct Run {
    var first: Int64
    var last: Int64
  }

  /// So many runs are remembered of each periodic job, those that grew last. Only a clock that was set more often than this
  /// makes times take place once more.
  private static let rememberedRuns = 10_000

  /// Notes that a time takes place. False if it has before: the clock was set back, and has come here again.
  func takesPlace(_ name: String, _ schedule: JobSchedule, at time: Int64) throws -> Bool {
    let before = try run(
      of: name, at: time,
      statement(
        "SELECT first, last FROM durable_occurrences WHERE name = ? AND first <= ? ORDER BY first DESC LIMIT 1"))
    if let before, before.last >= time { return false }
    let after = try run(
      of: name, at: time,
      statement("SELECT first, last FROM durable_occurrences WHERE name = ? AND first > ? ORDER BY first LIMIT 1"))

    func next(after time: Int64) -> Int64? { schedule.next(after: Date(milliseconds: time))?.milliseconds }
    var grown = Run(first: time, last: time)
    if let before, next(after: before.last) == time {
      try forget(before, of: name)
      grown.first = before.first
    }
    if let after, next(after: time) == after.first {
      try forget(after, of: name)
      grown.last = after.last
    }
    try connection.execute(
      "INSERT INTO durable_occurrences (name, first, last) VALUES (?, ?, ?)",
      [.text(name), .integer(grown.first), .integer(grown.last)])
    if grown.first == grown.last { try forgetOldRuns(of: name) }
    return true
  }

  /// What took place before says nothing of another schedule.
  func forgetOccurrences(of name: String) throws {
    try connection.execute("DELETE FROM durable_occurrences WHERE name = ?", [.text(name)])
  }

  private func run(of name: String, at time: Int64, _ select: Statement) throws -> Run? {
    try select.bind(name, at: 1)
    select.bind(time, at: 2)
    return try select.first { Run(first: $0.integer(0), last: $0.integer(1)) }
  }

  private func forget(_ run: Run, of name: String) throws {
    try connection.execute(
      "DELETE FROM durable_occurrences WHERE name = ? AND first = ?", [.text(name), .integer(run.first)])
  }

  private func forgetOldRuns(of name: String) throws {
    try connection.execute(
      """
      DELETE FROM durable_occurrences WHERE number IN (
        SELECT number FROM durable_occurrences WHERE name = ? ORDER BY number DESC LIMIT -1 OFFSET \(Self.rememberedRuns))
      """, [.text(name)])
  }
}
