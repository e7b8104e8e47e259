import Foundation

/// Which times of periodic jobs took place, as runs of times that follow each other: as long as the clock only goes on and
/// no time is left out, a periodic job has one run, however long it lives. A clock that is set adds at most one, and so does each
/// gap: with `.latest`, the times that passed while nothing ran.
///
/// A time that was left out is in no run: if the clock goes back, it takes place.
struct OccurrenceRun {
  /// Both ends belong to it.
  var first: Int64
  var last: Int64

  /// So many runs are remembered of each periodic job, those that grew last. Only a clock that was set more often than this
  /// makes times take place once more.
  static let remembered = 10_000

  /// What a time makes of the runs before and after it: a run that it belongs to, and those that are parts of that now. Nil if it has
  /// taken place before: the clock was set back, and has come here again.
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
