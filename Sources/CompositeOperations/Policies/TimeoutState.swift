/// The state of a time limit. The timer, the end of the work and the settling of the owner may come
/// in any order.
///
/// ```
/// running ──time is up──▶ expired ──work ended, owner settled──▶ ended
///    └───────────work ended, owner settled─────────────────────────▲
/// ```
struct TimeoutState<Timer> {
  enum Phase {
    /// The timer is nil until `arm` is called with it.
    case running(Timer?)
    /// The time was up, perhaps before `arm` was called with the timer.
    case expired
    case ended
  }

  private(set) var phase = Phase.running(nil)

  /// Records the timer. Returns the timer if it is no longer needed and must be cancelled.
  mutating func arm(_ timer: Timer) -> Timer? {
    guard case .running(nil) = phase else { return timer }
    phase = .running(timer)
    return nil
  }

  /// Records that the time is up. Returns whether that counts, and the timer, which must be
  /// cancelled if it has not fired.
  mutating func expire() -> (counts: Bool, timer: Timer?) {
    guard case .running(let timer) = phase else { return (false, nil) }
    phase = .expired
    return (true, timer)
  }

  /// Records that the work has ended, or that the owner has settled. Returns the phase before, with
  /// the timer that must be cancelled.
  mutating func end() -> Phase {
    defer { phase = .ended }
    return phase
  }
}
