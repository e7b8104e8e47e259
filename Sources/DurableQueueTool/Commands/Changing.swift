import CompositeOperationsCommandLine
import DurableOperations

extension DurableQueueCommand {
  /// Makes as many of the changes as possible. Returns the exit status.
  func perform(_ change: Change, on queue: DurableQueue, _ request: Request) throws -> Int32 {
    var report = ChangeReport(command: self, request: request)
    switch change {
    case .jobs(let ids, let change):
      try report.change(ids, keys: .jobs) { try apply(change, to: $0, of: queue) }
    case .all(let change):
      let (count, sentence) = try apply(change, to: queue)
      do {
        // Also if the database fails now: the jobs are changed.
        defer { report.tellOfAll(count: count, sentence: sentence) }
        try report.failExecuting(change, in: queue)
      }
      if count == 0 { try hint(change.kind, in: queue) }
    case .pause(let kinds, let evenNew):
      try report.change(kinds, keys: .kinds) { kind in
        if !evenNew { try requireKnown(kind, in: queue, "paused") }
        try queue.pause(kind: kind)
        return "paused"
      }
    case .limit(let kinds, let count, let evenNew):
      try report.change(kinds, keys: .kinds) { kind in
        if !evenNew { try requireKnown(kind, in: queue, "limited") }
        try queue.limit(kind: kind, to: count)
        return count.map { "\($0) at most" } ?? "no limit"
      }
    case .resume(let kinds):
      try report.change(kinds, keys: .kinds) { kind in
        let known = try queue.knownKinds()
        guard known.contains(where: { $0.utf8.elementsEqual(kind.utf8) }) else {
          let nearest = Suggestion.nearest(to: kind, among: known)
          throw ChangeReport.Failure(
            description: "There is no kind “\(HiddenPassword.hiding(in: kind))”, so it is not paused."
              + (nearest.map { " Did you mean \($0)?" } ?? ""))
        }
        try queue.resume(kind: kind)
        return "resumed"
      }
    case .unschedule(let names):
      try report.change(names, keys: .names) { name in
        guard try queue.unschedule(named: name) else { throw unknownPeriodicJob(name, in: queue) }
        return "unscheduled"
      }
    }
    return try report.finish()
  }

  /// Throws if a kind may be misspelt.
  private func requireKnown(_ kind: String, in queue: DurableQueue, _ what: String) throws {
    let known = try queue.knownKinds()
    // By its bytes, as the databases compare names.
    if known.contains(where: { $0.utf8.elementsEqual(kind.utf8) }) { return }
    let nearest = Suggestion.nearest(to: kind, among: known)
    throw ChangeReport.Failure(
      description: "The queue knows no kind “\(HiddenPassword.hiding(in: kind))”, so it was not \(what)."
        + (nearest.map { " Did you mean \($0)?" } ?? "") + " With --new it is \(what) before its jobs come.")
  }

  /// Returns the result for the job in a few words.
  private func apply(_ change: JobChange, to id: JobID, of queue: DurableQueue) throws -> String {
    switch change {
    case .retry:
      try queue.retry(id)
      return "will run again"
    case .cancel:
      try queue.cancel(id)
      return try queue.job(id)?.state == .executing ? "asked to end" : "cancelled"
    case .hold:
      try queue.hold(id)
      return "held"
    case .delete:
      try queue.delete(id)
      return "deleted"
    case .priority(let priority):
      try queue.setPriority(priority, of: id)
      return "has the priority \(priority.text) now"
    }
  }

  /// Returns the number of jobs, and a sentence.
  private func apply(_ change: ChangeOfAll, to queue: DurableQueue) throws -> (count: Int, sentence: String) {
    let count: Int
    let (one, many): (String, String)
    switch change {
    case .retry(let state, let kind):
      count = try queue.retryAll(state, kind: kind)
      (one, many) = ("will run again", "will run again")
    case .delete(let states, let kind):
      count = try queue.deleteAll(kind: kind, in: states)
      (one, many) = ("was deleted", "were deleted")
    case .deleteUnstarted(let kind):
      count = try queue.deleteUnstarted(kind: kind)
      (one, many) = ("was deleted", "were deleted")
    case .priority(let major, let minor?, let kind):
      let priority = JobPriority(major: major, minor: minor)
      count = try queue.setPriority(priority, kind: kind)
      (one, many) = ("has the priority \(priority.text) now", "have the priority \(priority.text) now")
    case .priority(let major, nil, let kind):
      count = try queue.setMajorPriority(major, kind: kind)
      (one, many) = ("has the priority \(major) now", "have the priority \(major) now")
    }
    return (count, "\(Wording.count(count, "job")) \(count == 1 ? one : many).")
  }
}
