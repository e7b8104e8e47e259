// What other processes say. What they do not say the next look sees.

extension QueueCore {
  /// Another process says that there is something to do.
  func heard(_ news: StoreNews) {
    let kinds = Set(news.lanes.map(JobLane.kind(of:)))
    // Others may have resumed a kind: that there are jobs of one that is paused is no news.
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
