#if os(macOS) || os(Linux)
/// The news for other processes: sent at once if none was sent recently, otherwise together after a
/// moment.
///
/// ```
/// quiet ── news ──▶ pausing ── the pause is over ──▶ quiet, or, if there were news, they are sent ──▶ pausing
/// ```
struct PostgresNotifierState {
  private enum Phase {
    case quiet
    case pausing(StoreNews)
  }

  private var phase = Phase.quiet

  /// Adds news. Returns what to send now; a pause begins then.
  mutating func add(_ news: StoreNews) -> StoreNews? {
    guard !news.isEmpty else { return nil }
    switch phase {
    case .quiet:
      phase = .pausing(StoreNews())
      return news
    case .pausing(var waiting):
      waiting.add(news)
      phase = .pausing(waiting)
      return nil
    }
  }

  /// Ends a pause. Returns what to send now.
  mutating func pauseIsOver() -> StoreNews? {
    guard case .pausing(let waiting) = phase, !waiting.isEmpty else {
      phase = .quiet
      return nil
    }
    phase = .pausing(StoreNews())
    return waiting
  }
}

/// News in the form of a notification: the numbers of lanes, and `cancel`, or `*` if there is no
/// room for that.
extension StoreNews {
  /// A notification has less than 8,000 bytes.
  private static let longest = 7900

  var payload: String {
    if isIncomplete { return "*" }
    let words = lanes.sorted().map(String.init) + (hasCancelRequests ? ["cancel"] : [])
    let text = words.joined(separator: " ")
    return text.utf8.count > Self.longest ? "*" : text
  }

  init(payload: String) {
    for word in payload.split(separator: " ") {
      if let lane = Int64(word) {
        lanes.insert(lane)
      } else if word == "cancel" {
        hasCancelRequests = true
      } else {
        // From a newer version, or another program.
        isIncomplete = true
      }
    }
  }
}
#endif
