#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

@Suite(.timeLimit(.minutes(30))) struct PostgresRoundStateTests {
  private static func job(_ id: Int64, claim: Int64 = 1) -> ClaimedJob {
    ClaimedJob(
      id: JobID(rawValue: id), kind: 1, claim: claim, enqueuedAt: 0, revision: 0, attempts: 0, crashes: 0,
      maxAttempts: nil, timeout: nil, backoff: nil, holdsAfterLastAttempt: false, requiresNetwork: false,
      isAlone: false, version: 1, payload: Data(), occurrence: nil)
  }

  private static func end(_ id: Int64, claim: Int64 = 1, _ result: Acknowledgement.Result = .done) -> Acknowledgement {
    StoreHarness.acknowledgement(of: JobID(rawValue: id), claim: claim, result)
  }

  private func ids(_ jobs: [ClaimedJob]) -> [Int64] { jobs.map(\.id.rawValue) }
  private func ids(_ ends: [Acknowledgement]) -> [Int64] { ends.map(\.id.rawValue) }
  private func held(_ state: PostgresRoundState) -> [Int64: Int64] {
    Dictionary(uniqueKeysWithValues: state.held.map { ($0.rawValue, $1) })
  }

  /// A worker that was given jobs 1 and 2, of which the queue knows.
  private func started() -> PostgresRoundState {
    var state = PostgresRoundState()
    state.begin(7)
    state.answered([Self.job(1), Self.job(2)], withCheckpoint: [], acknowledged: [])
    state.delivered([])
    return state
  }

  // MARK: - Transitions

  @Test func begin_countsFromZero_andForgetsTheOldWorker() {
    var state = started()
    state.lost([Self.end(1)])
    state.begin(8)
    #expect(state.counter == .init(worker: 8, epoch: 0, number: 0))
    #expect(state.held.isEmpty && state.found.isEmpty && state.unsure == nil)
  }

  @Test func answered_raisesTheNumber_andKeepsWhatTheQueueWasNotTold() {
    var state = PostgresRoundState()
    state.begin(7)
    state.answered([Self.job(1), Self.job(2)], withCheckpoint: [JobID(rawValue: 2)], acknowledged: [])
    #expect(state.counter?.number == 1)
    #expect(ids(state.found) == [1, 2])
    #expect(state.withCheckpoint == [JobID(rawValue: 2)])
    state.delivered([])
    #expect(state.found.isEmpty && state.withCheckpoint.isEmpty)
    #expect(held(state) == [1: 1, 2: 1])
  }

  @Test func answered_butNotDelivered_isNotWrittenAgain() {
    var state = started()
    state.answered([Self.job(3)], withCheckpoint: [], acknowledged: [Self.end(1)])
    // The round failed behind it: the queue asks again with the same, and one more.
    let again = [Self.end(1), Self.end(2)]
    #expect(ids(state.unwritten(again)) == [2])
    #expect(ids(state.unwritten(again)) == [2], "asking changes nothing")
    state.answered([], withCheckpoint: [], acknowledged: [Self.end(2)])
    #expect(ids(state.found) == [3])
    state.delivered(again)
    #expect(ids(state.unwritten(again)) == [1, 2], "the queue says it no more")
    #expect(held(state) == [3: 1])
  }

  @Test func lost_withoutAWorker_isNothingToFindOut() {
    var state = PostgresRoundState()
    state.lost([Self.end(1)])
    #expect(state.unsure == nil)
    state.settled(epoch: 4, number: 4)
    #expect(state.counter == nil)
  }

  @Test func lost_andNotWritten_isSentAgain() {
    var state = started()
    state.lost([Self.end(1)])
    #expect(state.unsure?.counter == .init(worker: 7, epoch: 0, number: 1))
    state.settled(epoch: 1, number: 1)
    #expect(state.counter == .init(worker: 7, epoch: 1, number: 1))
    #expect(state.unsure == nil && state.found.isEmpty)
    #expect(ids(state.unwritten([Self.end(1)])) == [1])
    #expect(held(state) == [1: 1, 2: 1])
  }

  @Test func lost_andWritten_givesWhatItClaimed_andIsNotWrittenAgain() {
    var state = started()
    state.lost([Self.end(1)])
    state.settled(
      epoch: 1, number: 2, own: [Self.job(2), Self.job(3)],
      withCheckpoint: [JobID(rawValue: 2), JobID(rawValue: 3)], known: state.held)
    #expect(state.counter == .init(worker: 7, epoch: 1, number: 2))
    #expect(ids(state.found) == [3], "the other one runs")
    #expect(state.withCheckpoint == [JobID(rawValue: 3)])
    #expect(state.hasFreed)
    #expect(ids(state.unwritten([Self.end(1)])) == [])
    state.delivered([Self.end(1)])
    #expect(!state.hasFreed)
    #expect(held(state) == [2: 1, 3: 1])
  }

  @Test func lost_andWritten_whatItAcknowledgedItMayHaveClaimedAgain() {
    var state = started()
    state.lost([Self.end(1)])
    state.settled(
      epoch: 1, number: 2, own: [Self.job(1, claim: 2), Self.job(2)], withCheckpoint: [], known: state.held)
    #expect(state.found.map(\.claim) == [2])
    #expect(held(state) == [1: 2, 2: 1])
    // The end of the second attempt is another one.
    #expect(ids(state.unwritten([Self.end(1), Self.end(1, claim: 2)])) == [1])
  }

  @Test func lost_andACallEndsAJobAfterTheOwnOnesWereRead_itDoesNotRunAgain() {
    var state = started()
    state.lost([])
    let known = state.held
    state.acknowledged([Self.end(1)])
    state.settled(
      epoch: 1, number: 2, own: [Self.job(1), Self.job(2), Self.job(3)], withCheckpoint: [], known: known)
    #expect(ids(state.found) == [3])
    #expect(held(state) == [2: 1, 3: 1])
  }

  @Test func lost_andItsWorkerIsNoMore_keepsWhatItHadWritten() {
    var state = started()
    state.lost([Self.end(1), Self.end(2)])
    state.settledWithoutWorker(written: [Self.end(1)])
    #expect(state.counter == nil && state.unsure == nil && state.held.isEmpty)
    #expect(ids(state.unwritten([Self.end(1), Self.end(2)])) == [2])
  }

  @Test func end_ofTheWorker_forgetsIt_andOfAnotherNothing() {
    var state = started()
    state.answered([Self.job(3)], withCheckpoint: [], acknowledged: [Self.end(1)])
    state.end(6)
    #expect(state.counter?.worker == 7 && ids(state.found) == [3])
    state.lost([])
    state.end(7)
    #expect(state.counter == nil && state.unsure == nil && state.found.isEmpty && state.held.isEmpty)
    #expect(ids(state.unwritten([Self.end(1)])) == [], "what was written is written")
  }

  @Test func workerWasLost_isTheEndOfWhicheverThereIs() {
    var state = started()
    state.workerWasLost()
    #expect(state.counter == nil)
    state.workerWasLost()
    #expect(state.counter == nil)
  }

  @Test func acknowledged_otherwise_isHeldNoMore() {
    var state = started()
    state.acknowledged([Self.end(1), Self.end(2, claim: 9)])
    #expect(held(state) == [2: 1])
  }

  // MARK: - At random

  /// A server, a queue and other processes, as simple as possible; the state must keep what they
  /// agree on.
  private struct World {
    var random: SeededRandomNumberGenerator
    /// Whether others take the process out now and then.
    let losesWorkers: Bool
    var state = PostgresRoundState()
    // The server.
    var worker: Int64?
    var number: Int64 = 0
    var epoch: Int64 = 0
    var lastWorker: Int64 = 0
    var lastJob: Int64 = 0
    var claims: [Int64: Int64] = [:]
    var executing: [Int64: Int64] = [:]
    var hasEnded: Set<Int64> = []
    // The queue.
    var running: [Int64: Int64] = [:]
    var ends: [Acknowledgement] = []
    // What must not be.
    var problems: [String] = []
    var refusals = 0
    var hasLost = false

    init(seed: UInt64, losesWorkers: Bool) {
      random = SeededRandomNumberGenerator(seed: seed)
      self.losesWorkers = losesWorkers
    }

    /// What a round does on the server; the jobs that were claimed, or nil if the worker is no
    /// more.
    mutating func write(_ ends: [Acknowledgement], claiming count: Int) -> [ClaimedJob]? {
      guard let worker, worker == state.counter?.worker, number == state.counter?.number,
        epoch == state.counter?.epoch
      else { return nil }
      number += 1
      for end in ends {
        let id = end.id.rawValue
        if executing[id] == end.claim {
          executing[id] = nil
          if case .done = end.result, !hasEnded.insert(id).inserted { problems.append("\(id) ended twice") }
        } else {
          refusals += 1
          if !hasLost { problems.append("the end of \(id) was refused") }
        }
      }
      return (0..<count).map { _ in
        // Now and then one that failed, or was taken from a worker.
        let free = claims.keys.filter { executing[$0] == nil && !hasEnded.contains($0) }.sorted()
        let id = !free.isEmpty && random.chance(50) ? random.pick(free) : lastJob + 1
        lastJob = max(lastJob, id)
        claims[id, default: 0] += 1
        executing[id] = claims[id]
        return PostgresRoundStateTests.job(id, claim: claims[id]!)
      }
    }

    /// In the order in which the session does it. False if the round failed.
    mutating func round(claiming count: Int) -> Bool {
      if let unsure = state.unsure {
        if random.chance(20) { return false }
        if worker == unsure.counter.worker {
          epoch += 1
          if number > unsure.counter.number {
            let own = executing.sorted { $0.key < $1.key }.map { PostgresRoundStateTests.job($0.key, claim: $0.value) }
            state.settled(epoch: epoch, number: number, own: own, withCheckpoint: [], known: state.held)
          } else {
            state.settled(epoch: epoch, number: number)
          }
        } else {
          state.settledWithoutWorker(
            written: unsure.acknowledgements.filter {
              hasEnded.contains($0.id.rawValue) && claims[$0.id.rawValue] == $0.claim
            })
        }
      }
      for _ in 0..<2 {
        let unwritten = state.unwritten(ends)
        if state.counter == nil {
          lastWorker += 1
          (worker, number, epoch) = (lastWorker, 0, 0)
          state.begin(lastWorker)
          // The jobs of the previous worker belong to other processes.
          executing = [:]
          if random.chance(20) { return false }
        }
        let isSent = random.chance(90), isAnswered = random.chance(70)
        let claiming = state.found.isEmpty ? count : 0
        guard isSent else {
          state.lost(unwritten)
          return false
        }
        guard let claimed = write(unwritten, claiming: claiming) else {
          state.workerWasLost()
          continue
        }
        guard isAnswered else {
          state.lost(unwritten)
          return false
        }
        state.answered(claimed, withCheckpoint: [], acknowledged: unwritten)
        break
      }
      if random.chance(20) { return false }
      for job in state.found {
        let id = job.id.rawValue
        if running[id] == job.claim { problems.append("\(id) was given twice") }
        running[id] = job.claim
      }
      state.delivered(ends)
      ends = []
      for (id, claim) in executing where running[id] != claim { problems.append("\(id) is claimed, and was not given") }
      return true
    }

    mutating func step() {
      switch random.number(0...9) {
      case 0...4: _ = round(claiming: random.number(0...3))
      case 5...7:
        guard let (id, claim) = running.sorted(by: { $0.key < $1.key }).first(where: { _ in random.chance(50) })
        else { return }
        running[id] = nil
        let result: Acknowledgement.Result =
          random.chance(30) ? .again(after: .zero, isCharged: true, error: nil) : .done
        ends.append(PostgresRoundStateTests.end(id, claim: claim, result))
      case 8:
        // One that was completed together with writes of the user's.
        guard let (id, claim) = running.min(by: { $0.key < $1.key }), executing[id] == claim else { return }
        (running[id], executing[id]) = (nil, nil)
        if !hasEnded.insert(id).inserted { problems.append("\(id) ended twice") }
        state.acknowledged([PostgresRoundStateTests.end(id, claim: claim)])
      default:
        guard losesWorkers, random.chance(20) else { return }
        (worker, executing, hasLost) = (nil, [:], true)
      }
    }

    /// All that is under way comes to its end.
    mutating func settle() {
      random = SeededRandomNumberGenerator(seed: 1)
      for _ in 0..<200 { if round(claiming: 0), state.found.isEmpty { break } }
      for (id, claim) in running { ends.append(PostgresRoundStateTests.end(id, claim: claim)) }
      running = [:]
      for _ in 0..<200 where !ends.isEmpty { _ = round(claiming: 0) }
    }
  }

  @Test(arguments: 0..<200) func roundsAtRandom_loseAndRepeatNothing(seed: Int) {
    var world = World(seed: UInt64(seed), losesWorkers: !seed.isMultiple(of: 2))
    for _ in 0..<200 { world.step() }
    world.settle()
    #expect(world.problems == [])
    #expect(world.ends.isEmpty)
    #expect(world.executing.isEmpty, "what is claimed is given to the queue, which ends it")
    #expect(world.state.held.isEmpty && world.state.found.isEmpty && world.state.unsure == nil)
    #expect(world.hasEnded.count > 20)
  }
}
#endif
