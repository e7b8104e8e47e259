import Testing

@testable import CompositeOperations

/// The invariants of one operation for any order of events.
@Suite("3.1 OperationState, all paths")
struct OperationStateWalkTests {
  /// The answers of the machine so far.
  struct Ledger: Hashable {
    var runs = false
    var settlesUnrun = false
    var callsHooks = false
    /// The ending that won, and whether it was reported as unstarted.
    var ending: OperationState.Ending?
    var isUnstarted = false
    var isDeferred = false
    var finishesInStart = false
    var wasAdopted = false
    var keepsCompletion = false
    var keepsListener = false
    var mainHasReturned = false
    var isWatched = false
    /// Whether `start()` was called by what may be the queue that holds it.
    var queueStarts = false
  }

  struct Life {
    var state = OperationState()
    var ledger = Ledger()

    /// The winner takes one step after the other; a deferred finish happens in the queue's start.
    func allows(_ input: OperationState.Input) -> Bool {
      if input == .returnFromMain { return ledger.runs && !ledger.mainHasReturned }
      guard let phase = input.phase else { return true }
      guard state.phase == phase else { return false }
      switch input {
      case .deferFinish: return (ledger.isUnstarted || state.has(.readinessWasRead)) && !ledger.isDeferred
      case .finish: return !ledger.isDeferred || ledger.finishesInStart
      default: return true
      }
    }

    /// Applies the input, and returns the broken rule, if any.
    mutating func take(_ input: OperationState.Input) -> String? {
      let before = state
      let action = state.apply(input)
      defer { note(input, action) }
      if state.phase < before.phase { return "the phase went back from \(before.phase) to \(state.phase)" }
      if before.ending != .none, state.ending != before.ending { return "the ending changed to \(state.ending)" }
      if before.has(.cancelled), !state.has(.cancelled) { return "it is not cancelled any more" }
      if state.isSettled, state.has(.cancelled) != (state.ending == .cancelled) {
        return "isCancelled and the ending disagree: \(state)"
      }
      return broken(by: action, input, before)
    }

    private func broken(by action: String, _ input: OperationState.Input, _ before: OperationState) -> String? {
      switch (input, action) {
      case (.start, "run"), (.start, "settleCancelled"), (.startByOwner, "run"), (.startByOwner, "settleCancelled"):
        if ledger.runs || ledger.settlesUnrun { return "it starts twice" }
        if ledger.ending != nil { return "it starts although it has settled" }
        return (action == "run") == before.has(.cancelled) ? "start() answers \(action) in \(before)" : nil
      case (.start, "finish"):
        return ledger.isDeferred && !ledger.finishesInStart ? nil : "it is to finish twice, or too early"
      case (.cancel, "callHooks"):
        if ledger.callsHooks { return "the hooks are called twice" }
        if !ledger.runs { return "the hooks are called though main never ran" }
        return ledger.ending == nil ? nil : "the hooks are called after it has settled"
      case (.succeed, _), (.fail, _), (.settleCancelled, _):
        if (action != "lose") != (ledger.ending == nil) {
          return "\(ledger.ending == nil ? "nobody" : "a second") wins"
        }
        if action != "lose", before.has(.cancelled), state.ending != .cancelled { return "the cancel was lost" }
        return nil
      case (.publish, _), (.publishFinishing, _):
        if (action == "deliverCompletion") != ledger.keepsCompletion { return "a completion is lost, or made up" }
        return (action == "announce") == state.isFinished ? nil : "publish answers \(action) in \(state)"
      case (.deferFinish, "later"):
        let hasStarted = before.has(.readinessWasRead) ? ledger.queueStarts : ledger.runs || ledger.settlesUnrun
        return hasStarted ? "the finish waits for a start that has been" : nil
      case (.startByOwner, "finish"):
        return "it finishes behind the back of its queue"
      case (.announce, _):
        return (action == "tell") == ledger.keepsListener ? nil : "a listener is lost, or made up"
      case (.adopt, "yes"), (.adoptForQueue, "yes"):
        return ledger.wasAdopted ? "it is adopted twice" : nil
      case (.returnFromMain, "watch"), (.beginWatch, "watch"):
        if ledger.isWatched { return "it is watched twice" }
        return state.isSuspect ? nil : "it is watched without need"
      case (.returnFromMain, _), (.beginWatch, _):
        return state.isSuspect && !ledger.isWatched ? "it hangs and is not watched" : nil
      default:
        return nil
      }
    }

    private mutating func note(_ input: OperationState.Input, _ action: String) {
      if input == .start, state.has(.readinessWasRead) { ledger.queueStarts = true }
      switch (input, action) {
      case (.start, "run"), (.startByOwner, "run"): ledger.runs = true
      case (.start, "settleCancelled"), (.startByOwner, "settleCancelled"): ledger.settlesUnrun = true
      case (.start, "finish"): ledger.finishesInStart = true
      case (.cancel, "callHooks"): ledger.callsHooks = true
      case (.deferFinish, "later"): ledger.isDeferred = true
      case (.adopt, "yes"), (.adoptForQueue, "yes"): ledger.wasAdopted = true
      case (.returnFromMain, _):
        ledger.mainHasReturned = true
        if action == "watch" { ledger.isWatched = true }
      case (.beginWatch, "watch"): ledger.isWatched = true
      case (.addCompletion, "keep"): ledger.keepsCompletion = true
      case (.addObserver, "keep"), (.addCancelHook, "keep"): ledger.keepsListener = true
      case (_, let action) where action.hasPrefix("win"):
        ledger.ending = state.ending
        ledger.isUnstarted = action.hasSuffix("unstarted")
      default: break
      }
    }
  }

  struct Key: Hashable {
    let rawValue: UInt32
    let ledger: Ledger
  }

  @Test(
    "3.1.1, 3.1.3, 3.1.4 One start, one winner, one ending, one finish, hooks at most once, nothing lost, on every path"
  )
  func anyInputs_inAnyOrder_keepTheRules() {
    let walk = StateWalk(
      from: Life(), identifiedBy: { Key(rawValue: $0.state.rawValue, ledger: $0.ledger) },
      inputs: { life in OperationState.Input.allCases.filter(life.allows) },
      step: { life, input in life.take(input) })
    #expect(walk.complaints == [])
    #expect(walk.stateCount > 400 && walk.stepCount > 4_000, "\(walk.stateCount) states, \(walk.stepCount) steps")
  }

  @Test("3.1.1 From every reachable state, the winner can finish and announce")
  func winner_fromAnyState_reachesAnnounced() {
    let walk = StateWalk(
      from: Life(), identifiedBy: { Key(rawValue: $0.state.rawValue, ledger: $0.ledger) },
      inputs: { life in OperationState.Input.allCases.filter(life.allows) },
      step: { life, input in
        _ = life.take(input)
        var end = life
        for input in [OperationState.Input.start, .succeed, .publishFinishing, .finish, .announce]
        where end.allows(input) {
          _ = end.take(input)
        }
        return end.state.phase == .announced ? nil : "it ends in \(end.state)"
      })
    #expect(walk.complaints == [])
    #expect(walk.stateCount > 400)
  }
}
