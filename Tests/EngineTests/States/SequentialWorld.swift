import Foundation

@testable import CompositeOperations

/// The environment of the state of a sequential composition: its delegate, the current child, and
/// the actions of `SequentialSource`. Each step here is atomic under the lock.
struct SequentialWorld {
  /// Where the sequence is.
  enum Stage: Int {
    case idle
    /// It waits for its turn to ask, or to start a child that has waited.
    case waitsForTurn
    case asking
    /// A worker has claimed the child.
    case claimed
    case parked, running
    /// Other code runs the child.
    case joined
    /// The child has finished, and monitors are being notified.
    case telling
    /// The child is being settled without being run.
    case abandoned
    /// It was cancelled while no child ran.
    case unwinding
    case ended
  }

  enum Step: Hashable {
    case begin(cancelled: Bool)
    case claim
    case answerChild, answerNothing
    case start, join, park, meet
    case tell
    case settle(OperationState.Ending)
    /// The child that would have come first is settled; or there is none.
    case unwind(hasChild: Bool)
    case cancel, cancelWaiting
    case setSuspended(Bool)
  }

  private(set) var state = SequentialState(records: SequentialRecords())
  private(set) var stage = Stage.idle
  /// How often it ended, how often the delegate was asked, how many children settled.
  private(set) var (ends, asks, settled) = (0, 0, 0)
  private(set) var endings: [OperationState.Ending] = []
  private(set) var wasCancelled = false
  private(set) var complaint: String?
  private let joins: Bool
  private let maxCount: Int

  init(joins: Bool, maxCount: Int) {
    self.joins = joins
    self.maxCount = maxCount
  }

  var steps: [Step] {
    var steps: [Step] = wasCancelled ? [] : [.cancel]
    steps += stage == .ended ? [] : [.cancelWaiting, .setSuspended(!state.isSuspended), .claim]
    let endings = [OperationState.Ending.success, .failure, .cancelled].map { Step.settle($0) }
    switch stage {
    case .idle: steps += [.begin(cancelled: false), .begin(cancelled: true)]
    case .asking: steps += state.count < maxCount ? [.answerChild, .answerNothing] : [.answerNothing]
    case .claimed: steps += [.start, .park] + (joins ? [.join] : [])
    case .parked: steps.append(.meet)
    case .running, .joined: steps += endings + [.tell]
    case .telling: steps += endings
    case .abandoned: steps.append(.settle(.cancelled))
    case .unwinding: steps += [.unwind(hasChild: true), .unwind(hasChild: false)]
    case .waitsForTurn, .ended: break
    }
    return stage == .idle ? steps.filter { $0 != .claim } : steps
  }

  mutating func take(_ step: Step) {
    switch step {
    case .begin(let cancelled):
      wasCancelled = wasCancelled || cancelled
      state.begin(cancelled: cancelled)
      stage = wasCancelled ? .unwinding : .waitsForTurn
    case .claim: claim()
    case .answerChild:
      switch state.begin(Operation(), ownership: joins ? .unknown : .ours) {
      case .abandon: stage = .abandoned
      case .hold:
        if !state.isSuspended { complain("a child is held back though nothing is suspended") }
        stage = .waitsForTurn
      case .launch:
        if state.isSuspended { complain("a child starts while suspended") }
        stage = .claimed
      }
    case .answerNothing:
      state.end()
      end()
    case .start: start()
    case .park:
      if joins, state.ownership != .ours, !state.setOwnership(.ours) { return stage = .abandoned }
      stage = state.wait() ? .parked : .abandoned
    case .join:
      if state.setOwnership(.theirs) { return stage = .joined }
      state.leave()
      end()
    case .meet:
      if state.unwait(state.count) { stage = .waitsForTurn } else { complain("the child that waits is forgotten") }
    case .tell:
      if !state.tellSettled(state.count) { complain("a child that settled is not told of") }
      stage = .telling
    case .settle(let ending): settle(ending)
    case .unwind(let hasChild): unwind(hasChild: hasChild)
    case .cancel: cancel()
    case .cancelWaiting:
      let child = state.cancelWaiting()
      let isWaiting = stage == .parked || stage == .waitsForTurn && state.phase == .launchable
      if (child != nil) != isWaiting { complain("\(child == nil ? "no" : "a") child waits in \(stage)") }
    case .setSuspended(let isSuspended): state.setSuspended(isSuspended)
    }
  }

  private mutating func start() {
    if !joins || state.ownership == .ours { return stage = .running }
    stage = state.setOwnership(.ours) ? .running : .abandoned
    if stage == .running, wasCancelled { complain("a child starts that the cancel did not reach") }
  }

  private mutating func claim() {
    switch state.claim() {
    case .nothing:
      if stage == .waitsForTurn, !state.isSuspended { complain("its turn is not taken") }
    case .ask(let previous, let count):
      if stage != .waitsForTurn { complain("the delegate is asked in \(stage)") }
      if wasCancelled { complain("the delegate is asked after the cancel") }
      if state.isSuspended { complain("the delegate is asked while suspended") }
      if (previous == nil) != (settled == 0) || count != settled { complain("it is asked about number \(count)") }
      asks += 1
      stage = .asking
    case .launch:
      if stage != .waitsForTurn || wasCancelled || state.isSuspended { complain("a child starts in \(stage)") }
      stage = .claimed
    }
  }

  private mutating func settle(_ ending: OperationState.Ending) {
    let number = state.count
    let isTold: SequentialState.Settled
    switch ending {
    case .success: isTold = state.succeeded(number, number, claiming: false)
    case .failure: isTold = state.settled(number, .failure(CancellationError()), claiming: false)
    case .cancelled, .none: isTold = state.settled(number, .cancelled, claiming: false)
    }
    settled += 1
    endings.append(ending)
    switch isTold {
    case .proceed:
      if wasCancelled { complain("it goes on after the cancel") }
      stage = .waitsForTurn
    case .end:
      if !wasCancelled { complain("it ends though nobody cancelled it") }
      end()
    case .ignore: complain("a child that settled is ignored")
    }
  }

  private mutating func unwind(hasChild: Bool) {
    if hasChild {
      state.unwind(Operation())
      stage = .abandoned
    } else {
      state.leave()
      end()
    }
  }

  private mutating func cancel() {
    let wasCancelled = wasCancelled
    self.wasCancelled = wasCancelled || stage != .ended
    let expected: [Stage]
    switch state.cancel() {
    case .nothing where wasCancelled: return
    case .nothing: expected = [.idle, .asking, .claimed, .telling, .ended]
    case .cancel: expected = [.running, .claimed]
    case .abandon:
      expected = [.parked, .waitsForTurn]
      stage = expected.contains(stage) ? .abandoned : stage
      return
    case .unwind:
      if stage != .waitsForTurn { complain("it unwinds in \(stage)") }
      stage = .unwinding
      return
    case .leave:
      if stage != .joined { complain("it ends in \(stage)") }
      return end()
    }
    if !expected.contains(stage) { complain("the cancel does not reach the child in \(stage)") }
  }

  private mutating func end() {
    ends += 1
    stage = .ended
  }

  private mutating func complain(_ text: String) {
    complaint = complaint ?? text
  }
}
