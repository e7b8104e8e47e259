import Foundation
import Testing

@testable import DurableOperations

@Suite(.timeLimit(.minutes(30))) struct RunnerStateTests {
  private func state(_ kinds: [Int64: Int] = [1: .max], width: Int = 4) -> Runner {
    var state = RunnerState(maxConcurrentOperationCount: width)
    for (kind, limit) in kinds { state.register(kind: kind, limit: limit) }
    return Runner(state)
  }

  func job(_ id: Int64, kind: Int64 = 1, isAlone: Bool = false) -> ClaimedJob {
    ClaimedJob(
      id: JobID(rawValue: id), kind: kind, claim: 1, enqueuedAt: 0, revision: 0, attempts: 0, crashes: 0,
      maxAttempts: nil,
      timeout: nil,
      backoff: nil, holdsAfterLastAttempt: false, requiresNetwork: false, isAlone: isAlone, version: 1, payload: Data(),
      occurrence: nil)
  }

  private func acknowledgement(_ id: Int64) -> Acknowledgement {
    StoreHarness.acknowledgement(of: JobID(rawValue: id))
  }

  @Test func idle_hasNoRound() {
    let state = state()
    #expect(state.nextRound() == nil)
    #expect(!state.stop())
    #expect(state.start())
    #expect(!state.start())
    #expect(state.nextRound() != nil)
    #expect(state.nextRound() == nil, "one at a time")
  }

  @Test func claimedFewerThanThereIsRoom_asksAgainOnlyWhenWorkMayHaveCome() throws {
    let state = state()
    _ = state.start()
    let round = try #require(state.nextRound())
    #expect(round.limit == 4)
    state.roundSucceeded(round, claim: Claim(jobs: [job(1)]), hasFreed: false, worker: 7)
    #expect(state.worker == 7)
    #expect(state.nextRound() == nil)
    state.workMayHaveCome()
    let next = try #require(state.nextRound())
    #expect(next.limit == 3)
    #expect(!next.mayRunAlone)
    // What comes while a round is under way is not missed.
    state.workMayHaveCome()
    state.roundSucceeded(next, claim: Claim(), hasFreed: false, worker: 7)
    #expect(state.nextRound() != nil)
  }

  @Test func full_asksAgainWhenOneEnds() throws {
    let state = state(width: 2)
    _ = state.start()
    let round = try #require(state.nextRound())
    state.roundSucceeded(round, claim: Claim(jobs: [job(1), job(2)]), hasFreed: false, worker: 7)
    #expect(state.nextRound() == nil)
    state.ended(kind: 1, isAlone: false, acknowledgement(1))
    let next = try #require(state.nextRound())
    #expect(next.acknowledgements.map(\.id.rawValue) == [1])
    #expect(next.claimable?.map(\.kind) == [1])
    #expect(next.limit == 1)
  }

  @Test func kindAtItsLimit_isLeftOut() throws {
    let state = state([1: 1, 2: 5], width: 8)
    _ = state.start()
    let round = try #require(state.nextRound())
    #expect(round.claimable?.map(\.limit) == [1, 5])
    state.roundSucceeded(
      round, claim: Claim(jobs: [job(1), job(2, kind: 2)]), hasFreed: true, worker: 7)
    let next = try #require(state.nextRound())
    #expect(next.claimable?.map(\.kind) == [2])
    #expect(next.claimable?.map(\.limit) == [4])
  }

  @Test func pausedKind_isLeftOutUntilResumed() {
    let state = state([1: .max, 2: .max])
    state.setRules(KindRules(paused: [1, 9]))
    _ = state.start()
    let round = state.nextRound()
    #expect(round?.claimable?.map(\.kind) == [2])
    state.roundSucceeded(round!, claim: Claim(), hasFreed: false, worker: 7)
    #expect(state.nextRound() == nil)
    state.setRules(KindRules(paused: [2]))
    #expect(state.nextRound()?.claimable?.map(\.kind) == [1])
  }

  @Test func jobThatWaitsToRunAloneIsGoneBeforeTheRoundEnds_doesNotKeepOthersOut() throws {
    let state = state([1: 5])
    _ = state.start()
    var round = try #require(state.nextRound())
    state.roundSucceeded(round, claim: Claim(jobs: [job(1)]), hasFreed: true, worker: 7)
    round = try #require(state.nextRound())
    // What the claim has seen was cancelled since.
    state.workMayHaveCome()
    state.roundSucceeded(round, claim: Claim(waitsToRunAlone: true), hasFreed: false, worker: 7)
    #expect(state.nextRound() != nil)
    // It waits until something changes.
    state.roundSucceeded(round, claim: Claim(waitsToRunAlone: true), hasFreed: false, worker: 7)
    #expect(state.nextRound() == nil)
  }

  @Test func jobThatRunsAlone_keepsOthersOutUntilItHasEnded() throws {
    let state = state()
    _ = state.start()
    var round = try #require(state.nextRound())
    #expect(round.mayRunAlone)
    state.roundSucceeded(round, claim: Claim(jobs: [job(1, isAlone: true)]), hasFreed: false, worker: 7)
    state.workMayHaveCome()
    #expect(state.nextRound() == nil)
    state.ended(kind: 1, isAlone: true, nil)
    round = try #require(state.nextRound())
    #expect(round.limit == 4 && round.mayRunAlone)
  }

  @Test func jobThatWaitsToRunAlone_getsTheRoomThatBecomesFree() throws {
    let state = state()
    _ = state.start()
    var round = try #require(state.nextRound())
    state.roundSucceeded(round, claim: Claim(jobs: [job(1), job(2)]), hasFreed: true, worker: 7)
    round = try #require(state.nextRound())
    state.roundSucceeded(round, claim: Claim(waitsToRunAlone: true), hasFreed: false, worker: 7)
    state.ended(kind: 1, isAlone: false, nil)
    #expect(state.nextRound() == nil)
    state.ended(kind: 1, isAlone: false, nil)
    round = try #require(state.nextRound())
    #expect(round.mayRunAlone)
    state.roundSucceeded(round, claim: Claim(), hasFreed: false, worker: 7)
    state.workMayHaveCome()
    #expect(state.nextRound()?.claimable != nil)
  }

  @Test func failedRound_isBegunAnewAfterThePauseWithItsAcknowledgements() throws {
    let state = state(width: 1)
    _ = state.start()
    var round = try #require(state.nextRound())
    state.roundSucceeded(round, claim: Claim(jobs: [job(1)]), hasFreed: false, worker: 7)
    state.ended(kind: 1, isAlone: false, acknowledgement(1))
    round = try #require(state.nextRound())
    state.roundFailed(round)
    state.workMayHaveCome()
    #expect(state.nextRound() == nil)
    state.pauseIsOver()
    round = try #require(state.nextRound())
    #expect(round.acknowledgements.map(\.id.rawValue) == [1])
    #expect(round.claimable != nil)
  }

  @Test func stop_writesWhatEndsAndTakesTheProcessOutLast() throws {
    let state = state()
    _ = state.start()
    var round = try #require(state.nextRound())
    state.roundSucceeded(round, claim: Claim(jobs: [job(1), job(2)]), hasFreed: false, worker: 7)
    #expect(state.stop())
    #expect(state.nextRound() == nil)
    state.ended(kind: 1, isAlone: false, acknowledgement(1))
    round = try #require(state.nextRound())
    #expect(round.claimable == nil && !round.isLast)
    state.ended(kind: 1, isAlone: false, acknowledgement(2))
    state.roundSucceeded(round, claim: Claim(), hasFreed: true, worker: 7)
    round = try #require(state.nextRound())
    #expect(round.isLast && round.acknowledgements.count == 1)
    state.roundSucceeded(round, claim: Claim(), hasFreed: false, worker: nil)
    #expect(state.phase == .idle && state.worker == nil)
    #expect(!state.stop())
  }

  @Test func startedDuringTheLastRound_goesOn() throws {
    let state = state()
    _ = state.start()
    _ = state.stop()
    let round = try #require(state.nextRound())
    #expect(round.isLast)
    #expect(state.start())
    state.roundSucceeded(round, claim: Claim(), hasFreed: false, worker: nil)
    #expect(state.phase == .running)
    #expect(state.nextRound()?.claimable != nil)
  }

  @Test func stopped_claimOfARoundUnderWayCounts() throws {
    let state = state()
    _ = state.start()
    let round = try #require(state.nextRound())
    _ = state.stop()
    state.roundSucceeded(round, claim: Claim(jobs: [job(1)]), hasFreed: false, worker: 7)
    #expect(state.phase == .stopping)
    #expect(state.nextRound() == nil)
    state.ended(kind: 1, isAlone: false, acknowledgement(1))
    #expect(state.nextRound()?.isLast == true)
  }

  @Test func givenUp_writesAfterTheNextStartWhatCouldNotBeWritten() throws {
    let state = state()
    _ = state.start()
    var round = try #require(state.nextRound())
    state.roundSucceeded(round, claim: Claim(jobs: [job(1)]), hasFreed: false, worker: 7)
    _ = state.stop()
    state.ended(kind: 1, isAlone: false, acknowledgement(1))
    round = try #require(state.nextRound())
    state.roundFailed(round)
    state.giveUp()
    #expect(state.phase == .idle)
    #expect(state.nextRound() == nil)
    #expect(state.start())
    let next = try #require(state.nextRound())
    #expect(next.acknowledgements.map(\.id.rawValue) == [1])
    #expect(state.worker == 7, "the claim is still its own, unless others have taken it over")
  }

  @Test func givenUp_duringTheLastRound_stopWaitsForIt() throws {
    let state = state()
    _ = state.start()
    _ = state.stop()
    let round = try #require(state.nextRound())
    state.giveUp()
    #expect(state.stop() && state.phase == .stopping)
    state.roundSucceeded(round, claim: Claim(), hasFreed: false, worker: nil)
    #expect(state.phase == .idle && !state.stop())
  }

  @Test func givenUp_endsAreBeingWrittenOutsideARound_stopTakesTheProcessOut() throws {
    let state = state()
    _ = state.start()
    var round = try #require(state.nextRound())
    state.roundSucceeded(round, claim: Claim(jobs: [job(1)]), hasFreed: false, worker: 7)
    _ = state.stop()
    state.ended(kind: 1, isAlone: false, acknowledgement(1))
    state.giveUp()
    #expect(state.takeAcknowledgements().count == 1)
    #expect(state.stop())
    round = try #require(state.nextRound())
    #expect(round.isLast)
    state.roundSucceeded(round, claim: Claim(), hasFreed: false, worker: nil)
    #expect(state.phase == .idle && !state.stop())
  }

  @Test func jobThatWaitedToRunAloneIsGone_othersAreClaimed() throws {
    let state = state()
    _ = state.start()
    var round = try #require(state.nextRound())
    state.roundSucceeded(round, claim: Claim(jobs: [job(1)]), hasFreed: false, worker: 7)
    state.workMayHaveCome()
    round = try #require(state.nextRound())
    state.roundSucceeded(round, claim: Claim(waitsToRunAlone: true), hasFreed: false, worker: 7)
    #expect(state.nextRound() == nil)
    // It was cancelled, or another process has it: only the next claim tells.
    state.workMayHaveCome()
    #expect(state.nextRound()?.claimable?.map(\.kind) == [1])
  }
}

/// A state that expectations can call: they cannot change a value.
private final class Runner {
  private var state: RunnerState

  init(_ state: RunnerState) { self.state = state }

  var phase: RunnerState.Phase { state.phase }
  var worker: Int64? { state.worker }
  func start() -> Bool { state.start() }
  func stop() -> Bool { state.stop() }
  func setRules(_ rules: KindRules) { state.setRules(rules) }
  func workMayHaveCome() { state.workMayHaveCome() }
  func ended(kind: Int64, isAlone: Bool, _ acknowledgement: Acknowledgement?) {
    state.ended(kind: kind, isAlone: isAlone, acknowledgement)
  }
  func nextRound() -> RunnerState.Round? { state.nextRound() }
  func roundSucceeded(_ round: RunnerState.Round, claim: Claim, hasFreed: Bool, worker: Int64?) {
    state.roundSucceeded(round, claim: claim, hasFreed: hasFreed, worker: worker)
  }
  func roundFailed(_ round: RunnerState.Round) { state.roundFailed(round) }
  func pauseIsOver() { state.pauseIsOver() }
  func giveUp() { state.giveUp() }
  func takeAcknowledgements() -> [Acknowledgement] { state.takeAcknowledgements() }
}
