#if os(macOS) || os(Linux)
/// The numbered rounds of this process: when the answer to a COMMIT is lost, the number tells
/// whether the round was written.
///
/// ```
/// counted ── a round is sent ──▶ answered ──▶ counted
///                  └── the answer is lost ──▶ unsure ── the number was asked ──▶ counted
/// ```
///
/// The queue may learn late that a round was written: a round also fails if something breaks after
/// its commit. Until a round succeeds, this keeps what it claimed and acknowledged, and the next
/// one reports it instead of doing it again.
struct PostgresRoundState {
  /// The counter of a worker's rounds.
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

  /// The counter of this process's worker; nil if it has none.
  private(set) var counter: Counter?
  private(set) var unsure: Unsure?
  /// Jobs that rounds have claimed, and of which the queue does not know yet.
  private(set) var found: [ClaimedJob] = []
  /// The claimed jobs that have a checkpoint.
  private(set) var withCheckpoint: Set<JobID> = []
  /// Whether such a round may have made other jobs due.
  private(set) var hasFreed = false
  /// Ends that rounds have written, with the numbers of the claims, while the queue still takes
  /// them for unwritten.
  private var written: [JobID: Int64] = [:]
  /// Jobs that this process received and has not acknowledged, with the number of the claim. Any
  /// other job that the database assigns to it was claimed by a round whose answer was lost.
  private(set) var held: [JobID: Int64] = [:]

  // MARK: - The worker

  /// Notes a new worker.
  mutating func begin(_ worker: Int64) {
    counter = Counter(worker: worker, epoch: 0, number: 0)
    (held, unsure) = ([:], nil)
    forgetFound()
  }

  /// Notes that the worker is gone: its jobs belong to other processes.
  mutating func end(_ worker: Int64) {
    if unsure?.counter.worker == worker { unsure = nil }
    guard counter?.worker == worker else { return }
    (counter, held) = (nil, [:])
    forgetFound()
  }

  /// Notes that other processes have removed this one.
  mutating func workerWasLost() {
    if let counter { end(counter.worker) }
  }

  // MARK: - Rounds

  /// Notes the answer of a round.
  mutating func answered(_ jobs: [ClaimedJob], withCheckpoint: Set<JobID>, acknowledged ends: [Acknowledgement]) {
    counter?.number += 1
    note(jobs, withCheckpoint, ends)
  }

  /// Notes that the answer of a round was lost.
  mutating func lost(_ ends: [Acknowledgement]) {
    guard let counter else { return }
    unsure = Unsure(counter: counter, acknowledgements: ends)
  }

  /// Notes that the lost round was not written, and can no longer be.
  mutating func settled(epoch: Int64, number: Int64) {
    guard let unsure else { return }
    self.unsure = nil
    guard counter?.worker == unsure.counter.worker else { return }
    counter = Counter(worker: unsure.counter.worker, epoch: epoch, number: number)
  }

  /// Notes that the lost round was written, and that these jobs belong to this process.
  ///
  /// - Parameter known: the jobs that were held before these were read. A call beside rounds may
  ///   have ended one since.
  mutating func settled(
    epoch: Int64, number: Int64, own: [ClaimedJob], withCheckpoint: Set<JobID>, known: [JobID: Int64]
  ) {
    let ends = unsure?.acknowledgements ?? []
    settled(epoch: epoch, number: number)
    // The round may have claimed a job again that it acknowledged, with another number.
    release(ends)
    note(own.filter { known[$0.id] != $0.claim }, withCheckpoint, ends)
    if !ends.isEmpty { hasFreed = true }
  }

  /// Notes that the worker of the lost round is gone; the round had written these ends before.
  mutating func settledWithoutWorker(written ends: [Acknowledgement]) {
    guard let unsure else { return }
    for end in ends { written[end.id] = end.claim }
    end(unsure.counter.worker)
  }

  // MARK: - What the queue is told

  /// The ends that no round has written.
  func unwritten(_ ends: [Acknowledgement]) -> [Acknowledgement] {
    written.isEmpty ? ends : ends.filter { written[$0.id] != $0.claim }
  }

  /// Notes that the queue knows the claimed jobs, and that these ends are written.
  mutating func delivered(_ ends: [Acknowledgement]) {
    forgetWritten(ends)
    forgetFound()
  }

  /// Notes ends that were written outside a round.
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
