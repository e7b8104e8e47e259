import CompositeOperations
import Foundation

// The next time at which there is something to do.

extension QueueCore {
  static let pauseAfterFailure = Duration.seconds(5)
  /// The delay before the queue asks again for what other processes keep locked.
  static let pauseWhenHeldUp = Duration.milliseconds(100)

  /// The longest time from one look to the next; nil for no limit.
  var longestPause: Duration? {
    // A lease is watched, and renewed three times before it ends.
    let hasLeases = withLock { $0.state.worker != nil || $0.watch.hasOtherWorkers }
    let third = hasLeases ? max(configuration.leaseDuration / 3, .milliseconds(1)) : nil
    return [configuration.pollInterval, third].compactMap { $0 }.min()
  }

  /// The pause, a fifth longer or shorter, so that processes that started together do not keep
  /// polling together.
  ///
  /// - Parameter place: between 0 and 1.
  static func spread(_ pause: Duration, by place: Double) -> Duration { pause * 4 / 5 + pause * 2 / 5 * place }

  var whatIsAhead: StoreAhead.Question {
    var question = StoreAhead.Question(occurrencesAfter: withLock { $0.watch.periodicFailedAt })
    // A queue that polls finds jobs to delete or to give up anyway.
    guard configuration.pollInterval == nil else { return question }
    if configuration.retention.pruned != nil { question.wantsFirstFinish = true }
    if case .dead = configuration.unknownKinds.value { question.knownKinds = withLock { Set($0.registrations.keys) } }
    return question
  }

  /// Sets the alarm for what becomes due before the next look, and wakes the tasks that wait for an
  /// idle queue.
  func lookAhead(in store: any StoreSession, isAfterLook: Bool = false) {
    lookAhead(Result { try store.ahead(whatIsAhead) }, in: store, isAfterLook: isAfterLook)
  }

  func lookAhead(_ ahead: Result<StoreAhead, any Error>, in store: any StoreSession, isAfterLook: Bool = false) {
    switch ahead {
    case .success(let ahead):
      let next = [
        ahead.nextDue, ahead.nextOccurrence, nextTryOfPeriodicJobs, nextPruning(ahead), nextLookForUnknownKinds(ahead),
      ]
      if let next = next.compactMap({ $0 }).min() {
        let delay = Duration.milliseconds(max(next.clampedDifference(to: ahead.now), 1))
        // If jobs are due right after a look, other processes have locked them, or there are more
        // than a look takes.
        setAlarm(in: isAfterLook && database.isPaced ? max(delay, .milliseconds(20)) : delay)
      }
    case .failure: setAlarm(in: Self.pauseAfterFailure)
    }
    wakeWaiters(in: store)
  }

  /// When periodic jobs are tried again that have failed.
  private var nextTryOfPeriodicJobs: Int64? {
    withLock { $0.watch.periodicFailedAt }.map { $0 + Self.pauseAfterFailure.milliseconds }
  }

  /// When there are jobs to delete.
  private func nextPruning(_ ahead: StoreAhead) -> Int64? {
    guard configuration.pollInterval == nil, let time = configuration.retention.pruned else { return nil }
    // Not for each single job.
    let patience = min(time.milliseconds, .max / 4) + min(time.milliseconds / 2, 60_000)
    // Jobs that are not deleted by then wait for a later look, not for one at once.
    let next = withLock { $0.watch.prunedAt }.map { min($0, .max / 4) + Self.pruneInterval(keeping: time) } ?? .min
    return ahead.firstFinish.map { max(min($0, .max / 4) + patience, next) }
  }

  /// Every half of the retention, but at least a second and at most a minute apart.
  static func pruneInterval(keeping duration: Duration) -> Int64 {
    min(max(duration.milliseconds / 2, 1000), 60_000)
  }

  /// When jobs of an unknown kind may have waited too long.
  private func nextLookForUnknownKinds(_ ahead: StoreAhead) -> Int64? {
    guard configuration.pollInterval == nil, case .dead(let after) = configuration.unknownKinds.value else {
      return nil
    }
    let limit = after.milliseconds, patience = patienceWithUnknownKinds(limit: limit)
    let (seen, last) = withLock { ($0.watch.unknownKinds, $0.watch.gaveUpAt) }
    let earliest = last.map { $0 + Self.unknownKindsInterval(limit: limit) } ?? ahead.now
    return ahead.unknownKinds?.map { kind in
      max(
        min(kind.knownAt, .max / 4) + silenceOfUnknownKinds(limit: limit) + 1,
        (seen[KindName(kind.name)] ?? ahead.now) + patience, earliest)
    }.min()
  }

  /// Looking for such jobs reads all waiting jobs.
  static func unknownKindsInterval(limit: Int64) -> Int64 { min(max(limit / 10, 1000), 60_000) }

  /// How long no process may have said that it knows a kind. A process says so three times in a
  /// lease.
  func silenceOfUnknownKinds(limit: Int64) -> Int64 {
    max(limit, configuration.leaseDuration.milliseconds)
  }

  /// Programs often register kinds a moment after the start.
  func patienceWithUnknownKinds(limit: Int64) -> Int64 {
    min(limit, configuration.leaseDuration.milliseconds)
  }

  // MARK: - The alarm

  /// Schedules a call of `poll` after a delay, or earlier.
  func setAlarm(in delay: Duration) {
    let timekeeper = clock.timekeeper
    let time = timekeeper.now + delay
    let (number, replaced) = withLock { storage -> (Int?, Timekeeper.Timer?) in
      guard storage.suspension == nil, storage.state.phase != .idle || !storage.waiters.isEmpty else {
        return (nil, nil)
      }
      if let alarm = storage.alarm, alarm.time <= time { return (nil, nil) }
      storage.lastAlarm += 1
      defer { storage.alarm = (time, storage.lastAlarm, nil) }
      return (storage.lastAlarm, storage.alarm?.timer)
    }
    guard let number else { return }
    if let replaced { timekeeper.cancel(replaced) }
    let timer = timekeeper.at(time) { [weak self] in self?.alarmRang(number) }
    let isReplaced = withLock { storage in
      // The alarm may have rung by now, or an earlier one replaced it.
      guard storage.alarm?.number == number else { return true }
      storage.alarm?.timer = timer
      return false
    }
    if isReplaced { timekeeper.cancel(timer) }
  }

  private func alarmRang(_ number: Int) {
    withLock { storage in if storage.alarm?.number == number { storage.alarm = nil } }
    database.async { [weak self] in self?.poll($0) }
  }
}
