#if os(macOS) || os(Linux)
/// What is to be told to other processes: at once if nothing was told lately, else when a moment has gone by, together.
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

  /// Returns what is to be sent now; a pause begins then.
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

  /// The same, when a pause is over.
  mutating func pauseIsOver() -> StoreNews? {
    guard case .pausing(let waiting) = phase, !waiting.isEmpty else {
      phase = .quiet
      return nil
    }
    phase = .pausing(StoreNews())
    return waiting
  }
}

/// News as a notification says them: the numbers of lanes, and `cancel`, or `*` if there is no room for that.
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
        // What a newer version says, or somebody else.
        isIncomplete = true
      }
    }
  }
}
#endif
