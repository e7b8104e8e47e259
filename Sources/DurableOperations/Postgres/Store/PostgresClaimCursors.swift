#if os(macOS) || os(Linux)
/// Where the next claim of each lane begins: at its front as long as that is fast, else at the last job that was claimed.
///
/// While anybody keeps an old snapshot, entries of jobs that were claimed stay at the front of the index, and each claim from there
/// passes all of them.
struct PostgresClaimCursors {
  /// A place in the order of the jobs of a lane.
  struct Key: Equatable {
    let rank: Int64
    let subrank: Int64
    let attempts: Int64
    let id: Int64

    static let first = Key(rank: .min, subrank: .min, attempts: 0, id: 0)
  }

  /// From here on a claim is slow, and one from the front is made now and then only.
  static let slow = Duration.milliseconds(5)
  /// From here on somebody should know of it.
  static let tooSlow = Duration.milliseconds(50)
  /// So often at most.
  private static let patience = Duration.seconds(60)

  private var keys: [Int64: Key] = [:]
  private(set) var isSlow = false
  private var lastFromFront: ContinuousClock.Instant?
  private var isTooSlow = false
  private var lastTold: ContinuousClock.Instant?

  /// Whether the next claim begins at the front.
  mutating func beginsAtFront(at now: ContinuousClock.Instant, every interval: Duration) -> Bool {
    if isSlow, let lastFromFront, now - lastFromFront < interval { return false }
    lastFromFront = now
    return true
  }

  func key(of lane: Int64) -> Key { keys[lane] ?? .first }

  /// Jobs were claimed, in the order of their lanes.
  mutating func claimed(_ last: [Int64: Key], took duration: Duration, fromFront: Bool) {
    keys.merge(last) { $1 }
    if fromFront { (isSlow, isTooSlow) = (duration >= Self.slow, duration >= Self.tooSlow) }
    // An exact order costs nothing then.
    if !isSlow { keys = last }
  }

  /// Whether it is to be told now that claims are too slow.
  mutating func isToBeTold(at now: ContinuousClock.Instant) -> Bool {
    guard isTooSlow, lastTold.map({ now - $0 >= Self.patience }) ?? true else { return false }
    lastTold = now
    return true
  }

  /// Something may stand before where the claims are.
  mutating func workHasCome() { lastFromFront = nil }
}
#endif
