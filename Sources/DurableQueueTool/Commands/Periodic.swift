import CompositeOperationsCommandLine
import DurableOperations
import Foundation

extension DurableQueueCommand {
  /// Lists the periodic jobs. Returns the exit status: one that cannot be read hides no other.
  func periodic(of queue: DurableQueue, _ request: Request) throws -> Int32 {
    var status = ExitStatus.good
    let jobs = try queue.periodicJobs { error in
      complain("\(request.place.title): \(error)")
      status = ExitStatus.failed
    }
    if request.isJSON {
      try write(try JSONText.array(jobs.map(json)).text + "\n")
    } else if !jobs.isEmpty {
      try write(fitted(try table(of: jobs)))
    } else if status == ExitStatus.good {
      try write("No periodic jobs.\n")
    }
    return status
  }

  private func table(of jobs: [PeriodicJob]) throws -> Table {
    var table = Table(indentation: "")
    table.add("name", "kind", "schedule", "next", "")
    for job in jobs {
      let schedule = try StoredSchedule(job.schedule).text
      table.add(
        Wording.plain(job.name), Wording.plain(job.kind), Wording.plain(schedule),
        job.nextAt.map(Wording.timestamp) ?? "never", job.nextAt.map { Wording.age(of: $0, at: now) } ?? "")
    }
    return table
  }

  private func json(_ job: PeriodicJob) throws -> JSONText {
    [
      "name": .string(job.name), "kind": .string(job.kind), "schedule": try StoredSchedule(job.schedule).json,
      "catchUp": .string(job.catchUp.rawValue),
      "nextAt": job.nextAt.map { .string(Wording.timestamp(of: $0)) } ?? .null,
    ]
  }

  /// The failure for a name that no periodic job has.
  func unknownPeriodicJob(_ name: String, in queue: DurableQueue) -> ChangeReport.Failure {
    let names = (try? queue.periodicJobs { _ in }.map(\.name)) ?? []
    let nearest = Suggestion.nearest(to: name, among: names)
    return ChangeReport.Failure(
      description: "There is no periodic job “\(HiddenPassword.hiding(in: name))”. "
        + (nearest.map { "Did you mean “\($0)”?" } ?? "`durable-queue periodic PLACE` lists those that there are."))
  }
}

/// A schedule in parts: its stored form has what the type keeps to itself.
private struct StoredSchedule: Codable {
  private let cron: String?
  private let timeZone: String?
  private let everyMilliseconds: Int64?
  private let startMilliseconds: Int64?

  init(_ schedule: JobSchedule) throws {
    self = try JSONDecoder().decode(Self.self, from: try JSONEncoder().encode(schedule))
  }

  private var start: Date? { startMilliseconds.map { Date(timeIntervalSince1970: Double($0) / 1000) } }

  /// Such as “30 2 * * * in Europe/Berlin” and “every 15 min”.
  var text: String {
    if let cron { return cron + (timeZone.map { " in \($0)" } ?? "") }
    return "every \(Self.span(everyMilliseconds ?? 0))" + (start.map { " from \(Wording.timestamp(of: $0))" } ?? "")
  }

  var json: JSONText {
    var pairs: [(String, JSONText)] = []
    if let cron { pairs.append(("cron", .string(cron))) }
    if let timeZone { pairs.append(("timeZone", .string(timeZone))) }
    if let everyMilliseconds { pairs.append(("everyMilliseconds", .integer(everyMilliseconds))) }
    if let start { pairs.append(("startsAt", .string(Wording.timestamp(of: start)))) }
    return .object(pairs)
  }

  /// In the largest unit without a remainder, so that 90 seconds are not read as a minute.
  private static func span(_ milliseconds: Int64) -> String {
    let units: [(Int64, String)] = [(86_400_000, "days"), (3_600_000, "h"), (60_000, "min"), (1000, "s")]
    for (length, unit) in units where milliseconds.isMultiple(of: length) {
      let number = milliseconds / length
      // A day is 24 hours here, whatever the clock does.
      if unit == "days", number < 2 { continue }
      return "\(number) \(unit)"
    }
    return "\(milliseconds) ms"
  }
}
