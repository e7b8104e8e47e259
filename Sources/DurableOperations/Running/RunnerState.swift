import Foundation

/// What a queue does with its jobs: which it may claim, which run, what has to be written. Decides; does nothing itself.
///
/// ```
/// idle ── start ──▶ running ── stop ──▶ stopping ── nothing runs, all is written ──▶ idle
///                      ▲                    │
///                      └────── start ───────┘
/// ```
///
/// The database is used in rounds, one at a time: each writes what has ended since the last, and claims as many jobs as
/// there is room for then. So the slower the disk, the more jobs share a transaction.
struct RunnerState {
  enum Phase: Equatable { case idle, running, stopping }

  struct Kind {
    let limit: Int
    var running = 0
    /// Whether there may be a job of it to claim.
    var mayHaveWork = true
  }

  private(set) var phase = Phase.idle
  private(set) var kinds: [Int64: Kind] = [:]
  private(set) var paused: Set<Int64> = []
  private(set) var runningCount = 0
  private var isRunningAlone = false
  private var waitsToRunAlone = false
  private var acknowledgements: [Acknowledgement] = []
  /// Whether a round is under way.
  private var isInRound = false
  /// Whether this process has to be taken in among, or out of, those that run jobs.
  private(set) var worker: Int64?
  /// A failed round is not begun anew before its time.
  private var isPausing = false
  private let maxConcurrentJobs: Int

  init(maxConcurrentJobs: Int) {
    self.maxConcurrentJobs = maxConcurrentJobs
  }

  /// What a round does.
  struct Round {
    var acknowledgements: [Acknowledgement]
    /// Kinds with room for more; nil if nothing may be claimed.
    var claimable: [(kind: Int64, limit: Int)]?
    var limit: Int
    var mayRunAlone: Bool
    /// Whether the process is to be taken out.
    var isLast: Bool
  }

  // MARK: - Inputs

  mutating func register(kind: Int64, limit: Int) {
    kinds[kind] = Kind(limit: limit, running: kinds[kind]?.running ?? 0)
  }

  mutating func setPaused(_ paused: Set<Int64>) {
    if !self.paused.isSubset(of: paused) { workMayHaveCome() }
    self.paused = paused
  }

  /// Returns false if it runs already.
  mutating func start() -> Bool {
    guard phase != .running else { return false }
    phase = .running
    workMayHaveCome()
    return true
  }

  /// Returns false if there is nothing to stop.
  mutating func stop() -> Bool {
    guard phase != .idle else { return false }
    phase = .stopping
    return true
  }

  /// There may be jobs to claim: something was stored, or has become due, or was retried.
  mutating func workMayHaveCome() {
    for id in kinds.keys { kinds[id]?.mayHaveWork = true }
    // The one that waits may be gone; the next claim tells.
    waitsToRunAlone = false
  }

  /// A job's operation has ended.
  mutating func ended(kind: Int64, isAlone: Bool, _ acknowledgement: Acknowledgement?) {
    runningCount -= 1
    kinds[kind]?.running -= 1
    if isAlone { isRunningAlone = false }
    if let acknowledgement { acknowledgements.append(acknowledgement) }
  }

  /// The time to wait after a failure is over.
  mutating func pauseIsOver() { isPausing = false }

  // MARK: - Rounds

  /// The next round, if there is something to do and none is under way.
  mutating func nextRound() -> Round? {
    guard !isInRound, !isPausing, phase != .idle else { return nil }
    let claimable = claimableKinds()
    let isLast = phase == .stopping && runningCount == 0
    guard claimable != nil || !acknowledgements.isEmpty || isLast else { return nil }
    isInRound = true
    for (kind, _) in claimable ?? [] { kinds[kind]?.mayHaveWork = false }
    defer { acknowledgements = [] }
    return Round(
      acknowledgements: acknowledgements, claimable: claimable, limit: maxConcurrentJobs - runningCount,
      mayRunAlone: runningCount == 0, isLast: isLast)
  }

  private func claimableKinds() -> [(kind: Int64, limit: Int)]? {
    guard phase == .running, !isRunningAlone, runningCount < maxConcurrentJobs else { return nil }
    if waitsToRunAlone && runningCount > 0 { return nil }
    let free = kinds.compactMap { id, kind in
      kind.mayHaveWork && kind.running < kind.limit && !paused.contains(id)
        ? (kind: id, limit: kind.limit - kind.running) : nil
    }
    return free.isEmpty ? nil : free.sorted { $0.kind < $1.kind }
  }

  /// A round has succeeded. `hasFreed`: something that it wrote made other jobs due.
  mutating func roundSucceeded(_ round: Round, claim: Claim, hasFreed: Bool, worker: Int64?) {
    isInRound = false
    self.worker = worker
    runningCount += claim.jobs.count
    var claimed: [Int64: Int] = [:]
    for job in claim.jobs { claimed[job.kind, default: 0] += 1 }
    for (kind, count) in claimed { kinds[kind]?.running += count }
    if claim.jobs.first?.isAlone == true { isRunningAlone = true }
    if let claimable = round.claimable {
      waitsToRunAlone = claim.waitsToRunAlone
      // Where there was no room for more there may be more.
      let isFull = claim.jobs.count >= round.limit || isRunningAlone || claim.waitsToRunAlone
      for (kind, limit) in claimable where isFull || claimed[kind, default: 0] >= limit {
        kinds[kind]?.mayHaveWork = true
      }
    }
    if hasFreed { workMayHaveCome() }
    if round.isLast, phase == .stopping, runningCount == 0, acknowledgements.isEmpty { phase = .idle }
  }

  /// A round has failed, and left no trace: what it was to write is written by a later one.
  mutating func roundFailed(_ round: Round) {
    isInRound = false
    isPausing = true
    acknowledgements = round.acknowledgements + acknowledgements
    if round.claimable != nil { workMayHaveCome() }
  }

  /// Ends though something could not be written. It is written after the next start, unless another process has taken the
  /// jobs over by then.
  mutating func giveUp() {
    phase = .idle
    isPausing = false
  }

  /// Other processes think that this one has ended: it has to be taken in anew.
  mutating func workerWasLost() { worker = nil }
}
