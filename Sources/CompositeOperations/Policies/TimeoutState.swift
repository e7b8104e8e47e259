/// The state of a time limit. The timer, the end of the work and the settling of the owner may come
/// in any order.
///
/// ```
/// idle ──arm──▶ armed ──time is up──▶ expired ──work ended──▶ ended
///   └────────────┴────────work ended, owner settled─────────────▲
/// ```
struct TimeoutState<Timer> {
  private enum Phase {
    case idle
    case armed(Timer)
    /// The time was up, perhaps before `arm` was called with the timer.
    case expired
    case ended
  }

  private var phase = Phase.idle

  /// Whether the time was up, and the work has not ended since.
  var isExpired: Bool {
    if case .expired = phase { true } else { false }
  }

  /// Records the timer. Returns the timer if it is no longer needed and must be cancelled.
  mutating func arm(_ timer: Timer) -> Timer? {
    switch phase {
    case .idle:
      phase = .armed(timer)
      return nil
    case .armed, .expired, .ended:
      return timer
    }
  }

  /// Records that the time is up. Returns whether that counts, and the timer, which must be
  /// cancelled if it has not fired.
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

  /// Records that the work has ended. Returns whether that was too late, and the timer if it must
  /// be cancelled.
  mutating func end() -> (isLate: Bool, timer: Timer?) {
    defer { phase = .ended }
    switch phase {
    case .armed(let timer): return (false, timer)
    case .expired: return (true, nil)
    case .idle, .ended: return (false, nil)
    }
  }

  /// Records that the owner has settled. Returns whether the work must be cancelled, because it has
  /// not ended, and the timer if it must be cancelled, too.
  mutating func ownerDidSettle() -> (cancelsWork: Bool, timer: Timer?) {
    switch phase {
    case .idle:
      phase = .ended
      return (true, nil)
    case .armed(let timer):
      phase = .ended
      return (true, timer)
    case .expired:
      phase = .ended
      return (true, nil)
    case .ended:
      return (false, nil)
    }
  }
}
