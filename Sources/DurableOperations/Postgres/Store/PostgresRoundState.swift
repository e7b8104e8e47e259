#if os(macOS) || os(Linux)
/// The rounds of this process, which are numbered: when the answer to a COMMIT is lost, the number tells whether it was written.
///
/// ```
/// counted ── a round is sent ──▶ answered ──▶ counted
///                  └── the answer is lost ──▶ unsure ── the number was asked ──▶ counted
/// ```
///
/// What was written the queue may hear of late: a round fails as well if something breaks behind it. Until a round succeeds, what it
/// claimed and acknowledged is kept here, and the next one hands it over instead of doing it again.
struct PostgresRoundState {
  /// What counts the rounds of a worker.
  struct Counter: Equatable {
    let worker: Int64
    var epoch: Int64
    var number: Int64
  }

  /// A round whose answer was lost.
  struct Unsure {
    let counter: Counter
    let acknowledgements: [Acknowledgement]
  }

  /// That of the worker that this process is; nil if it is none.
  private(set) var counter: Counter?
  private(set) var unsure: Unsure?
  /// What rounds have claimed, and the queue was not told.
  private(set) var found: [ClaimedJob] = []
  /// Those of them that have a checkpoint.
  private(set) var withCheckpoint: Set<JobID> = []
  /// Whether such a round may have made other jobs due.
  private(set) var hasFreed = false
  /// What rounds have written, with the numbers of the claims, and the queue still thinks to be unwritten.
  private var written: [JobID: Int64] = [:]
  /// What this process was given and has not acknowledged, with the number of the claim: all else that is its own by the database
  /// was claimed by a round whose answer was lost.
  private(set) var held: [JobID: Int64] = [:]

  // MARK: - The worker

  /// A worker was taken in.
  mutating func begin(_ worker: Int64) {
    counter = Counter(worker: worker, epoch: 0, number: 0)
    (held, unsure) = ([:], nil)
    forgetFound()
  }

  /// The worker is no more: what it was given is somebody else's.
  mutating func end(_ worker: Int64) {
    if unsure?.counter.worker == worker { unsure = nil }
    guard counter?.worker == worker else { return }
    (counter, held) = (nil, [:])
    forgetFound()
  }

  /// The others have taken this process out.
  mutating func workerWasLost() {
    if let counter { end(counter.worker) }
  }

  // MARK: - Rounds

  /// The answer of a round came.
  mutating func answered(_ jobs: [ClaimedJob], withCheckpoint: Set<JobID>, acknowledged ends: [Acknowledgement]) {
    counter?.number += 1
    note(jobs, withCheckpoint, ends)
  }

  /// The answer of a round was lost.
  mutating func lost(_ ends: [Acknowledgement]) {
    guard let counter else { return }
    unsure = Unsure(counter: counter, acknowledgements: ends)
  }

  /// The round that was lost was not written, and cannot come any more.
  mutating func settled(epoch: Int64, number: Int64) {
    guard let unsure else { return }
    self.unsure = nil
    guard counter?.worker == unsure.counter.worker else { return }
    counter = Counter(worker: unsure.counter.worker, epoch: epoch, number: number)
  }

  /// The round that was lost was written, and these jobs are the process's own.
  ///
  /// - Parameter known: what was held before they were read. A call beside rounds may have ended one since.
  mutating func settled(
    epoch: Int64, number: Int64, own: [ClaimedJob], withCheckpoint: Set<JobID>, known: [JobID: Int64]
  ) {
    let ends = unsure?.acknowledgements ?? []
    settled(epoch: epoch, number: number)
    // What it acknowledged it may have claimed again, with another number.
    release(ends)
    note(own.filter { known[$0.id] != $0.claim }, withCheckpoint, ends)
    if !ends.isEmpty { hasFreed = true }
  }

  /// The worker of the round that was lost is no more; these the round had written before.
  mutating func settledWithoutWorker(written ends: [Acknowledgement]) {
    guard let unsure else { return }
    for end in ends { written[end.id] = end.claim }
    end(unsure.counter.worker)
  }

  // MARK: - What the queue is told

  /// Those that no round has written.
  func unwritten(_ ends: [Acknowledgement]) -> [Acknowledgement] {
    written.isEmpty ? ends : ends.filter { written[$0.id] != $0.claim }
  }

  /// The queue knows what was claimed, and that these are written.
  mutating func delivered(_ ends: [Acknowledgement]) {
    forgetWritten(ends)
    forgetFound()
  }

  /// Some were written otherwise than by a round.
  mutating func acknowledged(_ ends: [Acknowledgement]) {
    release(ends)
    forgetWritten(ends)
  }

  // MARK: - Notes

  private mutating func note(_ jobs: [ClaimedJob], _ withCheckpoint: Set<JobID>, _ ends: [Acknowledgement]) {
    for end in ends { written[end.id] = end.claim }
    release(ends)
    for job in jobs { held[job.id] = job.claim }
    found += jobs
    self.withCheckpoint.formUnion(withCheckpoint.intersection(jobs.map(\.id)))
  }

  private mutating func release(_ ends: [Acknowledgement]) {
    for end in ends where held[end.id] == end.claim { held[end.id] = nil }
  }

  private mutating func forgetWritten(_ ends: [Acknowledgement]) {
    for end in ends where written[end.id] == end.claim { written[end.id] = nil }
  }

  private mutating func forgetFound() {
    (found, withCheckpoint, hasFreed) = ([], [], false)
  }
}
#endif
