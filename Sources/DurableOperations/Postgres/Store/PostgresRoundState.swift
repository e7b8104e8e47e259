#if os(macOS) || os(Linux)
/// The rounds of this process, which are numbered: when the answer to a COMMIT is lost, the number tells whether it was written.
///
/// ```
/// counted ── begins ──▶ under way ── answered ──▶ counted
///                           └── the answer is lost ──▶ unsure ── the number was asked ──▶ counted
/// ```
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
    /// The session that it was sent on.
    let serverProcess: Int32
  }

  private(set) var counter: Counter?
  private(set) var unsure: Unsure?
  /// What such a round has claimed, as was found out, and nobody was told yet.
  private var found: [ClaimedJob] = []
  /// What it has written, with the numbers of the claims, and is still thought to be unwritten.
  private var written: [JobID: Int64] = [:]
  /// What this process was given and has not acknowledged in a round, with the number of the claim: all else that is its own by the
  /// database was claimed by a round whose answer was lost.
  private(set) var held: [JobID: Int64] = [:]

  /// A worker was taken in.
  mutating func begin(_ worker: Int64) {
    counter = Counter(worker: worker, epoch: 0, number: 0)
    (held, found) = ([:], [])
  }

  /// The worker is no more.
  mutating func end(_ worker: Int64) {
    guard counter?.worker == worker else { return }
    (counter, unsure) = (nil, nil)
    (held, found) = ([:], [])
  }

  /// The answer of a round came.
  mutating func answered(_ jobs: [ClaimedJob], acknowledged: [Acknowledgement]) {
    counter?.number += 1
    take(jobs, acknowledged)
  }

  /// The answer of a round was lost.
  mutating func lost(_ acknowledgements: [Acknowledgement], on serverProcess: Int32) {
    guard let counter else { return }
    unsure = Unsure(counter: counter, acknowledgements: acknowledgements, serverProcess: serverProcess)
  }

  /// The round that was lost was not written, and cannot come any more.
  mutating func settled(epoch: Int64, number: Int64) {
    guard let worker = counter?.worker else { return }
    counter = Counter(worker: worker, epoch: epoch, number: number)
    unsure = nil
  }

  /// The round that was lost was written, and these jobs are the process's own.
  mutating func settled(epoch: Int64, number: Int64, own: [ClaimedJob]) {
    let ended = unsure?.acknowledgements ?? []
    settled(epoch: epoch, number: number)
    for end in ended { written[end.id] = end.claim }
    take([], ended)
    found = own.filter { held[$0.id] != $0.claim }
    take(found, [])
  }

  /// Those that such a round has not written.
  mutating func unwritten(_ ends: [Acknowledgement]) -> [Acknowledgement] {
    if written.isEmpty { return ends }
    return ends.filter { end in
      guard written[end.id] == end.claim else { return true }
      written[end.id] = nil
      return false
    }
  }

  /// What such a round has claimed.
  mutating func takeFound() -> [ClaimedJob] {
    defer { found = [] }
    return found
  }

  /// Jobs were claimed, and attempts ended.
  mutating func take(_ jobs: [ClaimedJob], _ ended: [Acknowledgement]) {
    for end in ended where held[end.id] == end.claim { held[end.id] = nil }
    for job in jobs { held[job.id] = job.claim }
  }
}
#endif
