import Foundation

extension DurableQueue {
  /// Gives each job as a line of JSON, in the order of their numbers: see ``JobRecord/jsonLine``. What changes in between
  /// may be seen or not; on a server, nor may a job that is being stored.
  ///
  /// - Parameters:
  ///   - kind: only those of a kind; nil for all.
  ///   - states: only those in one of these states; nil for all.
  ///   - write: gets each line, without its end. On the thread of the caller. What it throws ends the export.
  /// - Returns: how many there were.
  @discardableResult
  public func export(
    kind: String? = nil, in states: Set<JobState>? = nil, to write: (_ line: String) throws -> Void
  ) throws -> Int {
    var count = 0
    var last: JobID?
    while true {
      let page = try jobs(kind: kind, in: states, after: last, limit: 500)
      for record in page { try write(record.jsonLine) }
      count += page.count
      guard let end = page.last else { return count }
      last = end.id
    }
  }

  /// The same, without using the database on the thread of the caller: the form that `async` functions get.
  ///
  /// `write` is called where the caller is.
  @discardableResult
  public func export(
    kind: String? = nil, in states: Set<JobState>? = nil, isolation: isolated (any Actor)? = #isolation,
    to write: (_ line: String) throws -> Void
  ) async throws -> Int {
    try await export(kind: kind, in: states) { (line: String) async throws in try write(line) }
  }

  /// The same, for lines that are written with `await`. A line is made when the one before has been written.
  @discardableResult
  public func export(
    kind: String? = nil, in states: Set<JobState>? = nil, isolation: isolated (any Actor)? = #isolation,
    to write: (_ line: String) async throws -> Void
  ) async throws -> Int {
    var count = 0
    var last: JobID?
    while true {
      let page = try await jobs(kind: kind, in: states, after: last, limit: 500)
      for record in page { try await write(record.jsonLine) }
      count += page.count
      guard let end = page.last else { return count }
      last = end.id
    }
  }
}

extension JobRecord {
  /// The record as JSON in one line, with sorted keys but for `payload`, which is last, dates as ISO 8601 in UTC, durations in
  /// seconds, `failures` as a list of objects with `at`, `attempt` and `error`, and `payload` as the JSON that is stored, or
  /// `payloadBase64` if that is none. What is nil, and a list of nothing, is left out.
  public var jsonLine: String {
    var line = JSONLine()
    line.add("attempts", attempts)
    line.add("cancelRequested", isCancelRequested)
    line.add("checkpointSize", checkpointSize)
    line.add("crashes", crashes)
    line.add("enqueuedAt", enqueuedAt)
    if !failures.isEmpty { line.add("failures", failures) }
    line.add("finishedAt", finishedAt)
    line.add("holdsAfterLastAttempt", holdsAfterLastAttempt)
    line.add("id", id.rawValue)
    line.add("kind", kind)
    line.add("lapses", lapses)
    line.add("lastError", lastError)
    line.add("majorPriority", priority.major)
    line.add("maxAttempts", maxAttempts)
    line.add("minorPriority", priority.minor)
    let isJSON = JSONScanner.isJSON(payload)
    if !isJSON { line.add("payloadBase64", payload) }
    if !prerequisites.isEmpty { line.add("prerequisites", prerequisites.lazy.map(\.rawValue)) }
    line.add("requiresNetwork", requiresNetwork)
    line.add("runAt", runAt)
    line.add("startedAt", startedAt)
    line.add("state", state.description)
    line.add("timeout", timeout.map { $0 / .seconds(1) })
    line.add("uniqueKey", uniqueKey)
    line.add("unmetPrerequisites", unmetPrerequisites)
    line.add("version", version)
    // The last one, as it is the longest.
    if isJSON { line.add("payload", json: payload) }
    return line.finished()
  }
}
