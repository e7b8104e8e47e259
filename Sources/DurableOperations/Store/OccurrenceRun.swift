import Foundation

/// The times of a periodic job that took place, as runs of consecutive times: as long as the clock
/// only goes forward and no time is skipped, a periodic job has one run, however long it lives.
/// Setting the clock adds at most one run, and so does each gap: with `.latest`, the times that
/// passed while nothing ran.
///
/// A skipped time is in no run: if the clock goes back, it takes place.
struct OccurrenceRun {
  /// Both ends belong to it.
  var first: Int64
  var last: Int64

  /// How many runs of each periodic job are kept: those that grew last. Only if the clock was set
  /// more often than this, times take place once more.
  static let remembered = 10_000

  /// Adds a time to the runs before and after it: returns the run that it belongs to, and those
  /// that are now parts of that. Nil if the time has taken place before: the clock was set back,
  /// and reached it again.
  static func adding(
    _ time: Int64, between before: OccurrenceRun?, and after: OccurrenceRun?, _ schedule: JobSchedule
  ) -> (grown: OccurrenceRun, joined: [OccurrenceRun])? {
    if let before, before.last >= time { return nil }
    func next(after time: Int64) -> Int64? { schedule.next(after: Date(milliseconds: time))?.milliseconds }
    var (grown, joined) = (OccurrenceRun(first: time, last: time), [OccurrenceRun]())
    if let before, next(after: before.last) == time {
      grown.first = before.first
      joined.append(before)
    }
    if let after, next(after: time) == after.first {
      grown.last = after.last
      joined.append(after)
    }
    return (grown, joined)
  }
}
