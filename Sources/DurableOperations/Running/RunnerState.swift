import Foundation

/// The decisions of a queue: which jobs it may claim, which run, what it has to write. It has no
/// side effects.
///
/// ```
/// idle ── start ──▶ running ── stop ──▶ stopping ── nothing runs, all is written ──▶ idle
///                      ▲                    │
///                      └────── start ───────┘
/// idle ── stop, something still runs or is unwritten ──▶ stopping
/// ```
///
/// The queue uses the database in rounds, one at a time: each writes what has ended since the last,
/// and claims as many jobs as there is room for then. So the slower the disk, the more jobs share a
/// transaction.
///
/// Where the jobs run in a queue of the user, a job is claimed only for a slot there, called a
/// place:
///
/// ```
/// asked for, as many as jobs are due ── the queue starts it ──▶ free ── a round begins ──▶ a job is claimed for it
///                                                                 └── nothing is due now ──▶ given back
/// ```
struct RunnerState {
  enum Phase: Equatable { case idle, running, stopping }

  struct Kind {
    let limit: Int
    var running = 0
    /// Whether there may be a job of this kind to claim.
    var mayHaveWork = true
  }

  private(set) var phase = Phase.idle
  private(set) var kinds: [Int64: Kind] = [:]
  private(set) var rules = KindRules()
  private(set) var runningCount = 0
  private var isRunningAlone = false
  private(set) var waitsToRunAlone = false
  /// Whether something has changed since the current round began: what it has seen is outdated.
  private var hasNews = false
  /// The ends that are still to be written.
  private(set) var acknowledgements: [Acknowledgement] = []
  /// Whether a round is under way.
  private(set) var isInRound = false
  /// The number of this process among those that run jobs; nil while it has not joined.
  private(set) var worker: Int64?
  /// A failed round is not repeated before its time.
  private var isPausing = false
  private let maxConcurrentOperationCount: Int
  /// Whether each job needs a place.
  private let usesPlaces: Bool
  private var askedPlaces: Set<Int> = []
  private var freePlaces: [Int] = []
  private var lastPlace = 0

  init(maxConcurrentOperationCount: Int, usesPlaces: Bool = false) {
    self.maxConcurrentOperationCount = maxConcurrentOperationCount
    self.usesPlaces = usesPlaces
  }

  /// What a round does.
  struct Round {
    var acknowledgements: [Acknowledgement]
    /// Kinds with room for more; nil if nothing may be claimed.
    var claimable: [(kind: Int64, limit: Int)]?
    var limit: Int
    /// How many due jobs beyond the limit are of interest: that many more places are useful.
    var furtherLimit = 0
    /// The places for which jobs are claimed.
    var places: [Int] = []
    var mayRunAlone: Bool
    /// Whether the process leaves with this round.
    var isLast: Bool
  }

  // MARK: - Inputs

  /// - Parameter running: how many of its jobs run already.
  mutating func register(kind: Int64, limit: Int, running: Int = 0) {
    kinds[kind] = Kind(limit: limit, running: running)
  }

  mutating func unregister(kind: Int64) {
    kinds[kind] = nil
    // The job that waited to run alone may have been of this kind.
    workMayHaveCome()
  }

  mutating func setRules(_ rules: KindRules) {
    let isEased = !self.rules.paused.isSubset(of: rules.paused)
    if isEased || self.rules.limits != rules.limits { workMayHaveCome() }
    self.rules = rules
  }

  /// Returns false if the queue runs already.
  mutating func start() -> Bool {
    guard phase != .running else { return false }
    phase = .running
    workMayHaveCome()
    return true
  }

  /// Returns false if there is nothing to stop.
  mutating func stop() -> Bool {
    // A stop may have given up what still runs, is not written, or is being written: in a round, or
    // outside, by a process that has not left.
    guard phase != .idle || runningCount > 0 || !acknowledgements.isEmpty || isInRound || worker != nil else {
      return false
    }
    phase = .stopping
    return true
  }

  /// Notes that there may be jobs to claim: jobs were stored, retried, or became due.
  mutating func workMayHaveCome() {
    for id in kinds.keys { kinds[id]?.mayHaveWork = true }
    // The waiting job may be gone; the next claim tells.
    waitsToRunAlone = false
    hasNews = true
  }

  /// Handles the end of a job's operation.
  mutating func ended(kind: Int64, isAlone: Bool, _ acknowledgement: Acknowledgement?) {
    runningCount -= 1
    kinds[kind]?.running -= 1
    if isAlone { isRunningAlone = false }
    if let acknowledgement { acknowledgements.append(acknowledgement) }
    // There is room for one more place.
    if usesPlaces { workMayHaveCome() }
    // All processes together may have been at the limit of this kind.
    if rules.limits[kind] != nil { kinds[kind]?.mayHaveWork = true }
  }

  /// Ends the delay after a failure.
  mutating func pauseIsOver() { isPausing = false }

  // MARK: - Places

  /// Whether the place still waits in the queue, as far as is known.
  func isAsked(_ place: Int) -> Bool { askedPlaces.contains(place) }

  /// Notes that the user's queue has started a place. Returns false if the place is no longer
  /// needed.
  mutating func placeStarted(_ place: Int) -> Bool {
    guard askedPlaces.remove(place) != nil else { return false }
    freePlaces.append(place)
    workMayHaveCome()
    return true
  }

  /// Notes that another part of the program has cancelled a place without a job.
  mutating func placeWasCancelled(_ place: Int) {
    let wasKnown = askedPlaces.remove(place) != nil || freePlaces.contains(place)
    freePlaces.removeAll { $0 == place }
    if wasKnown { workMayHaveCome() }
  }

  /// Takes the places that wait in the queue, to remove them from it.
  mutating func takeAskedPlaces() -> Set<Int> {
    defer { askedPlaces = [] }
    return askedPlaces
  }

  /// Takes the places that have a slot, but nothing to do. Call after `nextRound()`.
  mutating func takeUnneededPlaces() -> [Int] {
    guard !isInRound, !freePlaces.isEmpty else { return [] }
    defer { freePlaces = [] }
    return freePlaces
  }

  // MARK: - Rounds

  /// Returns the next round, if there is something to do and none is under way.
  mutating func nextRound() -> Round? {
    guard !isInRound, !isPausing, phase != .idle else { return nil }
    let claimable = claimableKinds()
    let isLast = phase == .stopping && runningCount == 0
    guard claimable != nil || !acknowledgements.isEmpty || isLast else { return nil }
    isInRound = true
    hasNews = false
    for (kind, _) in claimable ?? [] { kinds[kind]?.mayHaveWork = false }
    let room = maxConcurrentOperationCount - runningCount
    var round = Round(
      acknowledgements: acknowledgements, claimable: claimable, limit: room, mayRunAlone: runningCount == 0,
      isLast: isLast)
    acknowledgements = []
    if usesPlaces, claimable != nil {
      round.places = Array(freePlaces.prefix(room))
      freePlaces.removeFirst(round.places.count)
      round.limit = round.places.count
      round.furtherLimit = room - round.limit
    }
    return round
  }

  private func claimableKinds() -> [(kind: Int64, limit: Int)]? {
    guard phase == .running, !isRunningAlone, runningCount < maxConcurrentOperationCount else { return nil }
    if waitsToRunAlone && runningCount > 0 { return nil }
    let free = kinds.compactMap { id, kind in
      kind.mayHaveWork && kind.running < kind.limit && !rules.paused.contains(id)
        ? (kind: id, limit: kind.limit - kind.running) : nil
    }
    return free.isEmpty ? nil : free.sorted { $0.kind < $1.kind }
  }

  /// Handles a successful round. `hasFreed`: its writes made other jobs due.
  ///
  /// - Returns: the places to request, and the places of the round for which no job was claimed.
  ///   The other places are for the jobs in their order.
  @discardableResult
  mutating func roundSucceeded(
    _ round: Round, claim: Claim, hasFreed: Bool, worker: Int64?
  ) -> (asked: [Int], unneeded: ArraySlice<Int>) {
    isInRound = false
    self.worker = worker
    runningCount += claim.jobs.count
    var claimed: [Int64: Int] = [:]
    for job in claim.jobs { claimed[job.kind, default: 0] += 1 }
    for (kind, count) in claimed { kinds[kind]?.running += count }
    if claim.jobs.first?.isAlone == true { isRunningAlone = true }
    var asked: [Int] = []
    if let claimable = round.claimable {
      waitsToRunAlone = claim.waitsToRunAlone && !hasNews
      while phase == .running, askedPlaces.count + freePlaces.count < claim.furtherJobs {
        lastPlace += 1
        askedPlaces.insert(lastPlace)
        asked.append(lastPlace)
      }
      // Where the limit was reached, there may be more.
      let isFull = claim.jobs.count >= round.limit || isRunningAlone || claim.waitsToRunAlone
      for (kind, limit) in claimable where isFull && !usesPlaces || claimed[kind, default: 0] >= limit {
        kinds[kind]?.mayHaveWork = true
      }
    }
    if hasFreed { workMayHaveCome() }
    if round.isLast, phase == .stopping, runningCount == 0, acknowledgements.isEmpty { phase = .idle }
    return (asked, round.places.dropFirst(claim.jobs.count))
  }

  /// Handles a failed round, which left no trace: a later one writes its ends.
  mutating func roundFailed(_ round: Round) {
    isInRound = false
    isPausing = true
    acknowledgements = round.acknowledgements + acknowledgements
    if round.claimable != nil { workMayHaveCome() }
  }

  /// Ends though something could not be written. It is written after the next start, unless another
  /// process has taken the jobs over by then.
  mutating func giveUp() {
    phase = .idle
    isPausing = false
  }

  /// Takes what is written outside a round.
  mutating func takeAcknowledgements() -> [Acknowledgement] {
    defer { acknowledgements = [] }
    return acknowledgements
  }

  mutating func putBack(_ acknowledgements: [Acknowledgement]) {
    self.acknowledgements = acknowledgements + self.acknowledgements
  }

  /// Notes that other processes took this one for ended: it must join anew.
  mutating func workerWasLost() { worker = nil }
}
