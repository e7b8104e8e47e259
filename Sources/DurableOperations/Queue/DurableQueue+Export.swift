import Foundation

extension DurableQueue {
  /// Passes each job as a line of JSON to a closure, in the order of their numbers. Changes during
  /// the export may or may not be seen; on a server, a job that is being stored may be missing.
  ///
  /// The keys of a line are sorted, except for `payload`, which is last. Dates are ISO 8601 in UTC,
  /// durations are in seconds, and `failures` is a list of objects with `at`, `attempt` and
  /// `error`. `payload` is the stored JSON; if the stored form is not JSON, the line has
  /// `payloadBase64` instead. Nil values and empty lists are left out.
  ///
  /// - Parameters:
  ///   - kind: the kind of the jobs; nil for all.
  ///   - states: the states of the jobs; nil for all.
  ///   - write: receives each line, without a line end, on the thread of the caller. An error that
  ///     it throws ends the export.
  /// - Returns: the number of jobs.
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

  /// Does the same without blocking the thread of the caller on the database; `async` functions
  /// call this form.
  ///
  /// `write` is called in the isolation of the caller.
  @discardableResult
  public func export(
    kind: String? = nil, in states: Set<JobState>? = nil, isolation: isolated (any Actor)? = #isolation,
    to write: (_ line: String) throws -> Void
  ) async throws -> Int {
    try await export(kind: kind, in: states) { (line: String) async throws in try write(line) }
  }

  /// Does the same with an `async` closure. The queue makes each line after the closure has written
  /// the one before.
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
  /// The record as one line of JSON, which
  /// ``DurableQueue/export(kind:in:to:)`` describes.
  package var jsonLine: String {
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
    // Last, since it is the longest.
    if isJSON { line.add("payload", json: payload) }
    return line.finished()
  }
}
