import CompositeOperationsCommandLine
import DurableOperations
import Foundation

extension DurableQueueCommand {
  /// Shows everything about jobs. Returns the exit status.
  func show(_ ids: [JobID], of queue: DurableQueue, _ request: Request) throws -> Int32 {
    let jobs = try ids.compactMap { try queue.job($0) }
    if request.isJSON {
      try write(JSONText.array(jobs.map { .verbatim($0.jsonLine) }).text + "\n")
    } else if !jobs.isEmpty {
      try write(jobs.map(description).joined(separator: "\n"))
    }
    let missing = ids.filter { id in !jobs.contains { $0.id == id } }
    for id in missing { complain("There is no job \(id). It may have been deleted, or done some time ago.") }
    return missing.isEmpty ? ExitStatus.good : ExitStatus.failed
  }

  private func description(_ job: JobRecord) -> String {
    var table = Table(indentation: "")
    func add(_ label: String, _ value: String?) {
      if let value { table.add(label, value) }
    }
    func add(_ label: String, _ date: Date?) {
      add(label, date.map { "\(Wording.timestamp(of: $0))  \(Wording.age(of: $0, at: now))" })
    }
    add("job", "\(job.id)")
    add("kind", Wording.plain(job.kind) + (job.version == 1 ? "" : ", version \(job.version)"))
    add("state", job.state.description + (job.isCancelRequested ? ", asked to be cancelled" : ""))
    add("priority", job.priority.text)
    add("attempts", "\(job.attempts)" + (job.maxAttempts.map { " of \($0)" } ?? ", of as many as it takes"))
    if job.holdsAfterLastAttempt { add("if it fails", "held after its last attempt, not dead") }
    if job.crashes > 0 { add("crashes", "\(job.crashes)") }
    if job.lapses > 0 { add("lapses", "\(job.lapses)") }
    if job.unmetPrerequisites > 0 { add("waits for", prerequisites(of: job)) }
    add("stored", job.enqueuedAt)
    add("due", job.runAt)
    add("started", job.startedAt)
    add("ended", job.finishedAt)
    add("timeout", job.timeout.map { "\($0)" })
    if job.requiresNetwork { add("network", "needed") }
    add("key", job.uniqueKey.map(Wording.plain))
    add("error", job.lastError.map(Wording.plain))
    for failure in job.failures {
      let date = "\(Wording.timestamp(of: failure.failedAt))  \(Wording.age(of: failure.failedAt, at: now))"
      add("failed", "attempt \(failure.attempt), \(date)  \(Wording.plain(failure.error))")
    }
    add("checkpoint", job.checkpointSize.map { "\(Wording.size($0)), for its next attempt" })
    let text = payloadText(job)
    add("payload", Wording.size(job.payload.count) + (text == nil ? ", in Base64 for it is no text" : ""))
    return table.text + "  " + Wording.plain(text ?? job.payload.base64EncodedString()) + "\n"
  }

  /// Such as “#3, #5”. A job may wait for thousands: then only the first ones, and the number of
  /// the others.
  private func prerequisites(of job: JobRecord) -> String {
    let shown = job.prerequisites.prefix(20).map(\.description).joined(separator: ", ")
    let more = job.unmetPrerequisites - min(job.prerequisites.count, 20)
    if shown.isEmpty { return Wording.count(more, "job") }
    return more > 0 ? "\(shown) and \(Wording.count(more, "other"))" : shown
  }

  /// The stored form of a job, if it is text.
  private func payloadText(_ job: JobRecord) -> String? {
    String(validating: job.payload, as: UTF8.self)
  }

  /// Exports all matching jobs, each on a line.
  func export(_ filter: Filter, of queue: DurableQueue) throws {
    var lines = ""
    let count = try queue.export(kind: filter.kind, in: filter.states) { line in
      lines += line + "\n"
      guard lines.utf8.count >= 65_536 else { return }
      try output(lines)
      lines = ""
    }
    try output(lines)
    if count == 0 { try hint(filter.kind, in: queue) }
  }
}
