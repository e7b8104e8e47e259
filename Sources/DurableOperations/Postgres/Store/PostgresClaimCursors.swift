#if os(macOS) || os(Linux)
/// Where the next claim of each lane begins: at the front of the lane as long as that is fast,
/// otherwise at the first job that may still wait.
///
/// While a client holds an old snapshot, entries of claimed jobs stay at the front of the index,
/// and each claim from there passes all of them. When this process makes a job due, the beginning
/// moves back to it; changes by other processes are seen from the front, at each look.
struct PostgresClaimCursors {
  /// A place in the order of the jobs of a lane.
  struct Key: Hashable, Comparable {
    let rank: Int64
    let subrank: Int64
    let attempts: Int64
    let id: Int64

    /// - Parameter column: the first of four.
    init(_ row: PostgresRow, from column: Int32) {
      self.init(
        rank: row.integer(column), subrank: row.integer(column + 1), attempts: row.integer(column + 2),
        id: row.integer(column + 3))
    }

    init(rank: Int64, subrank: Int64, attempts: Int64, id: Int64) {
      self.rank = rank
      self.subrank = subrank
      self.attempts = attempts
      self.id = id
    }

    static let first = Key(rank: .min, subrank: .min, attempts: 0, id: 0)
    /// Behind all jobs.
    static let last = Key(rank: .max, subrank: .max, attempts: .max, id: .max)

    static func < (left: Key, right: Key) -> Bool {
      (left.rank, left.subrank, left.attempts, left.id) < (right.rank, right.subrank, right.attempts, right.id)
    }
  }

  /// From here on, an operator should know.
  static let tooSlow = Duration.milliseconds(50)
  /// The minimum time between two reports.
  private static let patience = Duration.seconds(60)

  /// The result of a claim.
  struct Claimed {
    /// The lanes of the claim.
    var lanes: [Int64]
    /// The last job of each lane.
    var last: [Int64: Key]
    /// Lanes without further jobs.
    var exhausted: Set<Int64>
    var duration: Duration
    /// Whether it began at their fronts.
    var isFromFront: Bool
  }

  /// From here on, a claim is slow.
  private let slow: Duration
  /// For lanes whose front is not read.
  private var keys: [Int64: Key] = [:]
  /// The places of jobs that became due during a claim.
  private var freed: [Int64: Key] = [:]
  private(set) var isSlow = false
  private var lastFromFront: ContinuousClock.Instant?
  private var isTooSlow = false
  private var lastTold: ContinuousClock.Instant?

  init(slow: Duration) {
    self.slow = slow
  }

  /// Begins a claim. Returns whether it starts at the fronts of its lanes.
  mutating func begin(at now: ContinuousClock.Instant, every interval: Duration) -> Bool {
    freed = [:]
    guard beginsAtFront(at: now, every: interval) else { return false }
    lastFromFront = now
    return true
  }

  /// Whether a claim would start at the fronts.
  func beginsAtFront(at now: ContinuousClock.Instant, every interval: Duration) -> Bool {
    guard isSlow, let lastFromFront else { return true }
    return now - lastFromFront >= interval
  }

  func key(of lane: Int64) -> Key { isSlow ? keys[lane] ?? .first : .first }

  /// Ends a claim.
  mutating func claimed(_ claimed: Claimed) {
    if claimed.isFromFront {
      (isSlow, isTooSlow) = (claimed.duration >= slow, claimed.duration >= Self.tooSlow)
      for lane in claimed.lanes { keys[lane] = nil }
    }
    // An exact order costs nothing then.
    guard isSlow else { return keys = [:] }
    for lane in claimed.exhausted where key(of: lane) == .first { keys[lane] = .last }
    keys.merge(claimed.last) { $1 }
    free(freed)
  }

  /// Whether to report now that claims are too slow.
  mutating func isToBeTold(at now: ContinuousClock.Instant) -> Bool {
    guard isTooSlow, lastTold.map({ now - $0 >= Self.patience }) ?? true else { return false }
    lastTold = now
    return true
  }

  /// Notes that jobs have become due, in each lane from a place on.
  mutating func free(_ jobs: [Int64: Key]) {
    freed.merge(jobs, uniquingKeysWith: min)
    for (lane, key) in jobs { keys[lane] = keys[lane].map { min($0, key) } }
  }

  /// Notes that other processes may have made jobs due.
  mutating func workHasCome() { lastFromFront = nil }
}
#endif
