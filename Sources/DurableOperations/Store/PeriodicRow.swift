import Foundation

/// A periodic job as it is stored.
struct PeriodicRow {
  let name: String
  let kind: String
  let version: Int
  let payload: Data
  let options: JobOptions
  let schedule: JobSchedule
  let catchUp: JobCatchUp
  /// The last occurrence that was enqueued, or when the job was scheduled.
  let lastAt: Int64
  let nextAt: Int64?
}

extension PeriodicRow {
  /// - Throws: if its options or its schedule cannot be read here.
  init(
    name: String, kind: String, version: Int, payload: Data, options: String, schedule: String, catchUp: String,
    lastAt: Int64, nextAt: Int64?
  ) throws {
    let decoder = JSONDecoder()
    self.init(
      name: name, kind: kind, version: version, payload: payload,
      options: try decoder.decode(JobOptions.self, from: Data(options.utf8)),
      schedule: try decoder.decode(JobSchedule.self, from: Data(schedule.utf8)),
      catchUp: JobCatchUp(rawValue: catchUp) ?? .latest, lastAt: lastAt, nextAt: nextAt)
  }

  /// The stored options of its jobs, without the time of the first one.
  static func storedOptions(of job: JobRequest) throws -> String {
    var options = job.options
    (options.start, options.dependsOn) = (.atOnce, [])
    return try storedForm(of: options)
  }

  static func storedForm(of value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }

  /// Whether the next time is another one by the rules that its time zone has now.
  var isOutdated: Bool {
    guard let nextAt else { return false }
    return nextAt != schedule.next(after: Date(milliseconds: lastAt))?.milliseconds
  }

  /// The due times.
  func due(at now: Int64) -> [Date] {
    let last = Date(milliseconds: lastAt), end = Date(milliseconds: now)
    return switch catchUp.value {
    case .latest: schedule.lastOccurrence(after: last, through: end).map { [$0] } ?? []
    // The next look enqueues the rest.
    case .all: schedule.occurrences(after: last, through: end, limit: 1000)
    }
  }

  /// Whether the clock was set back so far that a periodic job would stay away for long. Times of a
  /// cron line wait for a few hours; intervals go on from the new time. Times that took place are
  /// remembered in both cases, and do not take place again.
  func isFarAhead(of now: Int64) -> Bool {
    switch schedule.rule {
    case .interval: lastAt > now + Self.minute
    case .cron: lastAt > now + 180 * Self.minute
    }
  }

  /// The minimum distance of a time that is far ahead.
  static let minute: Int64 = 60_000

  func request(for time: Date) -> JobRequest {
    JobRequest(
      kind: kind, version: version, payload: payload, options: options, occurrence: time.milliseconds)
  }
}
