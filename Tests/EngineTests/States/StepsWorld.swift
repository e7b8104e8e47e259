import Foundation

@testable import CompositeOperations

/// The environment of a table with steps: the form, the current child, and the actions of the
/// composition. Each step here is atomic under the lock.
struct StepsWorld {
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

  private(set) var state = ChildTable(.steps(areRecorded: true))
  private(set) var stage = Stage.idle
  /// How often it ended, how often the delegate was asked, how many children settled.
  private(set) var (ends, asks, settled) = (0, 0, 0)
  private(set) var endings: [OperationState.Ending] = []
  private(set) var wasCancelled = false
  private(set) var complaint: String?
  var isSuspended: Bool { state.blocks.contains(.suspended) }
  private let joins: Bool
  private let maxCount: Int

  init(joins: Bool, maxCount: Int) {
    self.joins = joins
    self.maxCount = maxCount
  }

  var steps: [Step] {
    var steps: [Step] = wasCancelled ? [] : [.cancel]
    steps += stage == .ended ? [] : [.cancelWaiting, .setSuspended(!isSuspended), .claim]
    let endings = [OperationState.Ending.success, .failure, .cancelled].map { Step.settle($0) }
    switch stage {
    case .idle: steps += [.begin(cancelled: false), .begin(cancelled: true)]
    case .asking: steps += state.stepCount < maxCount ? [.answerChild, .answerNothing] : [.answerNothing]
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
      if state.begin(cancelled: cancelled) == wasCancelled { complain("it begins though it was cancelled, or not") }
      stage = wasCancelled ? .unwinding : .waitsForTurn
    case .claim: claim()
    case .answerChild:
      let (blocks, _) = state.stepMade(Operation(), joins ? .claimed : .ours)
      if blocks.contains(.closed) != wasCancelled || blocks.contains(.suspended) != isSuspended {
        complain("a child is made with \(blocks)")
      }
      stage = wasCancelled ? .abandoned : isSuspended ? .waitsForTurn : .claimed
    case .answerNothing:
      state.endSteps()
      end()
    case .start: start()
    case .park:
      if joins, state.step.phase != .ours, !state.mark(state.stepCount, .ours) { return stage = .abandoned }
      stage = state.mark(state.stepCount, .waiting) ? .parked : .abandoned
    case .join:
      if state.mark(state.stepCount, .joined) { return stage = .joined }
      state.endSteps()
      end()
    case .meet:
      if state.unpark(state.stepCount, priority: .normal) {
        stage = .waitsForTurn
      } else {
        complain("the child that waits is forgotten")
      }
    case .tell:
      if !state.tellStep(state.stepCount) { complain("a child that settled is not told of") }
      stage = .telling
    case .settle(let ending): settle(ending)
    case .unwind(let hasChild): unwind(hasChild: hasChild)
    case .cancel: cancel()
    case .cancelWaiting:
      let child = state.cancelWaitingStep()
      let isWaiting = stage == .parked || stage == .waitsForTurn && state.step.phase == .ready
      if (child != nil) != isWaiting { complain("\(child == nil ? "no" : "a") child waits in \(stage)") }
    case .setSuspended(let isSuspended): state.setSuspended(isSuspended)
    }
  }

  private mutating func start() {
    if !joins || state.step.phase == .ours { return stage = .running }
    stage = state.mark(state.stepCount, .ours) ? .running : .abandoned
    if stage == .running, wasCancelled { complain("a child starts that the cancel did not reach") }
  }

  private mutating func claim() {
    switch state.claimStep() {
    case .next, .end: complain("a claim ends")
    case .nothing:
      if stage == .waitsForTurn, !isSuspended { complain("its turn is not taken") }
    case .ask(let previous, let count):
      if stage != .waitsForTurn { complain("the delegate is asked in \(stage)") }
      if wasCancelled { complain("the delegate is asked after the cancel") }
      if isSuspended { complain("the delegate is asked while suspended") }
      if (previous == nil) != (settled == 0) || count != settled { complain("it is asked about number \(count)") }
      asks += 1
      stage = .asking
    case .launch:
      if stage != .waitsForTurn || wasCancelled || isSuspended { complain("a child starts in \(stage)") }
      stage = .claimed
    }
  }

  private mutating func settle(_ ending: OperationState.Ending) {
    let number = state.stepCount
    let next = state.stepEnded(number, claiming: false, isLast: false) { records in
      switch ending {
      case .success: records.append(number)
      case .failure: records.append(.failure(CancellationError()), index: number - 1, name: nil)
      case .cancelled, .none: records.append(.cancelled, index: number - 1, name: nil)
      }
    }
    settled += 1
    endings.append(ending)
    switch next {
    case .next:
      if wasCancelled { complain("it goes on after the cancel") }
      stage = .waitsForTurn
    case .end:
      if !wasCancelled { complain("it ends though nobody cancelled it") }
      end()
    case .ask, .launch, .nothing: complain("a child that settled is ignored")
    }
  }

  private mutating func unwind(hasChild: Bool) {
    if hasChild {
      _ = state.stepMade(Operation(), .claimed)
      stage = .abandoned
    } else {
      state.endSteps()
      end()
    }
  }

  private mutating func cancel() {
    let wasCancelled = wasCancelled
    self.wasCancelled = wasCancelled || stage != .ended
    let expected: [Stage]
    switch state.cancelSteps()?.phase {
    case nil where wasCancelled: return
    case nil: expected = [.idle, .ended]
    case .making, .claimed, .ended: expected = [.asking, .claimed, .telling]
    case .ours: expected = [.running, .claimed]
    case .waiting, .ready:
      expected = [.parked, .waitsForTurn]
      stage = expected.contains(stage) ? .abandoned : stage
      return
    case .listed:
      if stage != .waitsForTurn { complain("it unwinds in \(stage)") }
      stage = .unwinding
      return
    case .joined:
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
