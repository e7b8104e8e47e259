// Messages of other processes. The next look sees what they do not report.

extension QueueCore {
  /// Handles the message of another process that there is something to do.
  func heard(_ news: StoreNews) {
    let kinds = Set(news.lanes.map(JobLane.kind(of:)))
    // Other processes may have resumed a kind. New jobs of a paused kind are no news.
    let isIncomplete = withLock { news.isIncomplete || !kinds.isDisjoint(with: $0.state.rules.paused) }
    if isIncomplete { return database.async { [weak self] in self?.poll($0) } }
    let isForUs = withLock { storage in
      guard storage.state.phase == .running, !kinds.isDisjoint(with: storage.registrations.keys) else { return false }
      storage.state.workMayHaveCome()
      return true
    }
    if isForUs { pump() }
    if news.hasCancelRequests { followCancelRequests() }
  }
}
