/// A limit in time: what its timer and the work, whichever is first, lead to.
///
/// ```
/// idle ──arm──▶ armed ──time is up──▶ expired ──work ended──▶ ended
///   └────────────┴────────────────work ended────────────────────▲
/// ```
struct TimeoutState<Timer> {
  private enum Phase {
    case idle
    case armed(Timer)
    /// The time was up before the one who set the timer could say so, or after.
    case expired
    case ended
  }

  private var phase = Phase.idle

  /// The timer was set. Returns it if it is not needed any more, and has to be cancelled.
  mutating func arm(_ timer: Timer) -> Timer? {
    switch phase {
    case .idle:
      phase = .armed(timer)
      return nil
    case .armed, .expired, .ended:
      return timer
    }
  }

  /// The time is up. False if the work had ended before.
  mutating func expire() -> Bool {
    switch phase {
    case .idle, .armed:
      phase = .expired
      return true
    case .expired, .ended:
      return false
    }
  }

  /// The work has ended. Returns whether that was too late, and the timer if it has to be cancelled.
  mutating func end() -> (isLate: Bool, timer: Timer?) {
    defer { phase = .ended }
    switch phase {
    case .armed(let timer): return (false, timer)
    case .expired: return (true, nil)
    case .idle, .ended: return (false, nil)
    }
  }
}
