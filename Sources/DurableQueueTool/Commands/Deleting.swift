import CompositeOperationsCommandLine
import DurableOperations

extension DurableQueueCommand {
  /// For a dry run, prints what would be deleted. Otherwise asks for confirmation on a terminal; if
  /// there is no terminal, refuses to delete many jobs. Changes nothing. Returns the exit status,
  /// or nil to go on.
  func considerDeleting(_ change: Change, _ request: Request) throws -> Int32? {
    guard change.deletes, request.isDryRun || !request.isConfirmed else { return nil }
    // A script that gives numbers has chosen the jobs.
    if answer == nil, !request.isDryRun, case .jobs = change { return nil }
    let queue = try request.place.look()
    if request.isDryRun { return try tellOfDeleting(change, in: queue, request) }
    let casualties = try Casualties(of: change, in: queue)
    guard let answer else { return try refuse(change, casualties, in: queue) }
    guard casualties.count > 0 else { return nil }
    errors(
      fitted(casualties.table)
        + "\(casualties.wording) would be deleted for good. Delete \(casualties.pronoun)? [y/N] ")
    let line = answer()
    // The end of the input ends no line.
    if line == nil { errors("\n") }
    if ["y", "yes"].contains(line?.lowercased().filter { !$0.isWhitespace }) { return nil }
    errors("Nothing was deleted.\n")
    return ExitStatus.failed
  }

  /// Says what would be deleted, and how.
  private func refuse(_ change: Change, _ casualties: Casualties, in queue: DurableQueue) throws -> Int32 {
    if casualties.count > 0 { errors(fitted(casualties.table)) }
    complain(
      "\(casualties.wording) would be deleted for good. Nothing was deleted, because there is no terminal to ask on. "
        + "Add --yes to delete \(casualties.pronoun).")
    if casualties.count == 0, case .all(let change) = change { try hint(change.kind, in: queue) }
    return ExitStatus.failed
  }

  private func tellOfDeleting(_ change: Change, in queue: DurableQueue, _ request: Request) throws -> Int32 {
    var report = ChangeReport(command: self, request: request)
    switch change {
    case .jobs(let ids, _):
      try report.change(ids, keys: .jobs) { id in
        guard let job = try queue.job(id) else {
          throw ChangeReport.Failure(
            description: "There is no job \(id). It may have been deleted, or done some time ago.")
        }
        if job.state == .executing { throw ChangeReport.Failure(executing: id) }
        return "would be deleted: \(Wording.plain(job.kind)), \(job.state)"
      }
    case .all(let change):
      let casualties = try Casualties(of: .all(change), in: queue)
      try report.failExecuting(change, in: queue)
      if !request.isJSON, casualties.count > 0 { try output(fitted(casualties.table)) }
      report.tellOfAll(
        count: casualties.count, sentence: "\(casualties.wording) would be deleted.")
      if casualties.count == 0 { try hint(change.kind, in: queue) }
    case .pause, .resume, .limit, .unschedule: break
    }
    return try report.finish()
  }

  /// Returns the free space of a file, or at the ends of the tables of a server, to the system.
  func compact(_ queue: DurableQueue, _ request: Request) throws {
    let freed = try queue.compact()
    let bytes = try queue.storedSize()
    if request.isJSON {
      let json = JSONText.object(request.place.json + [("bytes", JSONText(bytes)), ("freed", JSONText(freed))])
      try output(json.text + "\n")
    } else {
      try output("\(request.place.title)  \(Wording.size(freed)) given back, \(Wording.size(bytes)) left\n")
    }
  }
}

/// The numbers of jobs that would be deleted, by kind and state.
private struct Casualties {
  private var numbers: [(kind: String, state: JobState, count: Int)] = []
  private var isApproximate = false

  init(of change: Change, in queue: DurableQueue) throws {
    switch change {
    case .jobs(let ids, _):
      let jobs = try ids.compactMap { try queue.job($0) }.filter { $0.state != .executing }
      for (name, jobs) in Dictionary(grouping: jobs, by: { Array($0.kind.utf8) }).sorted(by: {
        $0.key.lexicographicallyPrecedes($1.key)
      }) {
        add(String(decoding: name, as: UTF8.self), Dictionary(grouping: jobs, by: \.state).mapValues(\.count))
      }
    case .all(let change):
      let states = change.deletedStates
      // By its bytes, as SQLite compares names.
      let counts = try queue.counts()
      isApproximate = counts.isApproximate
      for kind in counts.kinds where change.kind?.utf8.elementsEqual(kind.kind.utf8) ?? true {
        add(kind.kind, kind.states.filter { states.contains($0.key) })
      }
    case .pause, .resume, .limit, .unschedule: break
    }
  }

  private mutating func add(_ kind: String, _ states: [JobState: Int]) {
    for state in JobState.allCases {
      if let count = states[state], count > 0 { numbers.append((kind, state, count)) }
    }
  }

  var count: Int { numbers.reduce(0) { $0 + $1.count } }
  var pronoun: String { count == 1 ? "it" : "them" }
  var wording: String { (isApproximate ? "About " : "") + Wording.count(count, "job") }

  var table: Table {
    var table = Table(sides: [.left, .left, .right], indentation: "")
    table.add("kind", "state", "jobs")
    for number in numbers { table.add(Wording.plain(number.kind), number.state.description, "\(number.count)") }
    return table
  }
}

extension ChangeReport {
  /// Reports matching jobs that execute, and therefore are not deleted.
  mutating func failExecuting(_ change: ChangeOfAll, in queue: DurableQueue) throws {
    guard case .delete(let states, let kind) = change, states.contains(.executing) else { return }
    for job in try queue.jobs(kind: kind, in: [.executing], limit: .max) {
      fail(job.id, .jobs, Failure(executing: job.id).description)
    }
  }
}

extension ChangeReport.Failure {
  fileprivate init(executing id: JobID) {
    self.init(description: "Job \(id) executes, so it stays. Cancel it, and delete it when it has ended.")
  }
}
