/// A limit in time: what its timer, the work and the owner, whichever is first, lead to.
///
/// ```
/// idle ──arm──▶ armed ──time is up──▶ expired ──work ended──▶ ended
///   └────────────┴────────work ended, owner settled─────────────▲
/// ```
struct TimeoutState<Timer> {
  private enum Phase {
    case idle
    case armed(Timer)
    /// The time was up, perhaps before the one who set the timer could say so.
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

  /// The time is up. Returns whether that counts, and the timer if it has to be cancelled, for somebody else noticed.
  mutating func expire() -> (counts: Bool, timer: Timer?) {
    switch phase {
    case .idle:
      phase = .expired
      return (true, nil)
    case .armed(let timer):
      phase = .expired
      return (true, timer)
    case .expired, .ended:
      return (false, nil)
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

  /// The owner has settled. Returns whether the work goes on and has to be cancelled, and the timer if that has to be.
  mutating func ownerDidSettle() -> (cancelsWork: Bool, timer: Timer?) {
    switch phase {
    case .idle:
      phase = .ended
      return (true, nil)
    case .armed(let timer):
      phase = .ended
      return (true, timer)
    case .expired, .ended:
      return (false, nil)
    }
  }
}
