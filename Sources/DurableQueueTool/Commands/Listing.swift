import CompositeOperationsCommandLine
import DurableOperations
import Foundation

extension DurableQueueCommand {
  /// Lists a page of jobs.
  func list(_ page: Page, of queue: DurableQueue, _ request: Request) throws {
    if request.isJSON { return try listJSON(page, of: queue) }
    let limit = page.limit ?? Page.inATable
    // One more, to know whether there is another page.
    let found = try queue.jobs(kind: page.filter.kind, in: page.filter.states, after: page.after, limit: limit + 1)
    let jobs = found.prefix(limit)
    guard let last = jobs.last else {
      try output("No jobs.\n")
      return try hint(page.filter.kind, in: queue)
    }
    var table = Table(sides: [.right, .left, .left, .right, .right], indentation: "")
    table.add("id", "kind", "state", "priority", "attempts", "when", "key and error")
    for job in jobs { table.add(row(job)) }
    try output(fitted(table))
    guard found.count > limit else { return }
    try output("There are more: --after \(last.id.rawValue) shows the next.\n")
  }

  /// Writes one array of all jobs, page by page.
  private func listJSON(_ page: Page, of queue: DurableQueue) throws {
    var last = page.after, left = page.limit ?? .max
    var separator = "["
    while left > 0 {
      let jobs = try queue.jobs(kind: page.filter.kind, in: page.filter.states, after: last, limit: min(left, 500))
      guard let end = jobs.last else { break }
      try output(separator + jobs.map(\.jsonLine).joined(separator: ","))
      (separator, last, left) = (",", end.id, left - jobs.count)
    }
    try output(separator == "[" ? "[]\n" : "]\n")
  }

  /// A table with lines of limited width.
  func fitted(_ table: Table) -> String {
    guard let width else { return table.text }
    return table.text.split(separator: "\n").map { Wording.shortened(String($0), to: width) + "\n" }.joined()
  }

  private func row(_ job: JobRecord) -> [String] {
    let attempts = job.maxAttempts.map { "\(job.attempts) of \($0)" } ?? "\(job.attempts)"
    let error = job.lastError.map(Wording.plain)
    let note = [job.uniqueKey.map { "[\(Wording.plain($0))]" }, error].compactMap(\.self).joined(separator: " ")
    return [
      "\(job.id.rawValue)", Wording.shortened(Wording.plain(job.kind), to: 40), job.state.description,
      job.priority.text, attempts, when(job), width == nil ? Wording.shortened(note, to: 120) : note,
    ]
  }

  /// The most informative time of a job in its state.
  private func when(_ job: JobRecord) -> String {
    func age(_ date: Date?) -> String { date.map { Wording.age(of: $0, at: now) } ?? "" }
    return switch job.state {
    case .waiting, .blocked, .held: "stored \(age(job.enqueuedAt))"
    case .scheduled: "due \(age(job.runAt))"
    case .executing: "started \(age(job.startedAt))\(job.isCancelRequested ? ", to be cancelled" : "")"
    case .cancelled, .dead, .done: age(job.finishedAt)
    }
  }

  /// Prints a hint if a kind without jobs may be misspelt.
  func hint(_ kind: String?, in queue: DurableQueue) throws {
    guard let kind else { return }
    let known = try queue.counts().kinds.map(\.kind)
    guard !known.contains(where: { $0.utf8.elementsEqual(kind.utf8) }) else { return }
    let nearest = Suggestion.nearest(to: kind, among: known)
    let shown = HiddenPassword.hiding(in: kind)
    complain("There are no jobs of the kind “\(shown)”." + (nearest.map { " Did you mean \($0)?" } ?? ""))
  }
}

extension JobPriority {
  /// The form of the command line.
  var text: String { minor == JobPriority.normal.minor ? "\(major)" : "\(major),\(minor)" }
}
