import Foundation
import TestSupport

@testable import CompositeOperations

/// Inputs, situations and answers as the table writes them.
extension SequentialStateTests {
  enum Input: CaseIterable, Sendable {
    case begin, beginCancelled, claim, claimSuspended, launch, launchUnknown, end, own, join, wait, unwait, unwaitOther
    case tell, tellOther, succeed, fail, succeedClaiming, settleOther, cancel, unwind, leave, cancelWaiting
  }

  /// The phases, and within *running* the owner of the current child and whether the composition
  /// was cancelled.
  enum Situation: CaseIterable, Sendable {
    case idle, ready, asking, askingCancelled, askingSuspended, ours, unknown, theirs, cancelled, waiting, launchable,
      ended
  }

  /// A sequence with its third child, or where that comes next.
  static func situation(_ situation: Situation) -> SequentialState {
    var state = SequentialState()
    guard situation != .idle else { return state }
    state.begin(cancelled: false)
    for number in 1...2 {
      _ = state.claim()
      _ = state.begin(child("\(number)"), ownership: .ours)
      _ = state.succeeded(number, (), claiming: false)
    }
    if situation == .ready { return state }
    _ = state.claim()
    switch situation {
    case .asking: return state
    case .askingCancelled:
      _ = state.cancel()
      return state
    case .askingSuspended:
      state.setSuspended(true)
      return state
    case .ended:
      state.end()
      return state
    default: break
    }
    _ = state.begin(child("3"), ownership: situation == .unknown || situation == .theirs ? .unknown : .ours)
    if situation == .theirs { _ = state.setOwnership(.theirs) }
    if situation == .cancelled { _ = state.cancel() }
    if situation == .waiting || situation == .launchable { _ = state.wait() }
    if situation == .launchable { _ = state.unwait(3) }
    return state
  }

  static func child(_ name: String) -> Operation {
    let child = Operation()
    child.name = name
    return child
  }

  static func text(_ claim: SequentialState.Claim) -> String {
    switch claim {
    case .ask(let previous, let count): "ask \(previous?.name ?? "nil") \(count)"
    case .launch(let child, let count): "launch \(child.name ?? "") \(count)"
    case .nothing: "nothing"
    }
  }

  static func text(_ settled: SequentialState.Settled) -> String {
    switch settled {
    case .proceed(let claim): "proceed, \(text(claim))"
    case .end: "end"
    case .ignore: "ignore"
    }
  }

  static func text(_ cancel: SequentialState.Cancel) -> String {
    switch cancel {
    case .nothing: "nothing"
    case .cancel(let child): "cancel \(child.name ?? "")"
    case .abandon(let child, let count): "abandon \(child.name ?? "") \(count)"
    case .unwind: "unwind"
    case .leave(let child, let count): "leave \(child.name ?? "") \(count)"
    }
  }

  static func apply(_ input: Input, to state: inout SequentialState) -> String {
    switch input {
    case .begin:
      state.begin(cancelled: false)
      return "-"
    case .beginCancelled:
      state.begin(cancelled: true)
      return "-"
    case .claim: return text(state.claim())
    case .claimSuspended:
      state.setSuspended(true)
      return text(state.claim())
    case .launch: return "\(state.begin(child("next"), ownership: .ours))"
    case .launchUnknown: return "\(state.begin(child("next"), ownership: .unknown))"
    case .end:
      state.end()
      return "-"
    case .own: return "\(state.setOwnership(.ours))"
    case .join: return "\(state.setOwnership(.theirs))"
    case .wait: return "\(state.wait())"
    case .unwait: return "\(state.unwait(3)), \(state.unwait(3))"
    case .unwaitOther: return "\(state.unwait(2))"
    case .tell: return "\(state.tellSettled(3))"
    case .tellOther: return "\(state.tellSettled(2))"
    case .succeed: return text(state.succeeded(3, (), claiming: false))
    case .fail: return text(state.settled(3, .failure(TestError.first), claiming: false))
    case .succeedClaiming: return text(state.succeeded(3, (), claiming: true))
    case .settleOther:
      return "\(text(state.settled(2, .cancelled, claiming: true))), \(text(state.succeeded(2, (), claiming: true)))"
    case .cancel: return "\(text(state.cancel())), \(text(state.cancel()))"
    case .unwind:
      state.unwind(child("unasked"))
      return "\(state.count)"
    case .leave:
      state.leave()
      return "-"
    case .cancelWaiting: return "\(state.cancelWaiting()?.name ?? "nil")\(state.cancelsNext ? ", and the next" : "")"
    }
  }
}
