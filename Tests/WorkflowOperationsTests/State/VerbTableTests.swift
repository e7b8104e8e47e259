import CompositeOperations
import Foundation
import TestSupport
import Testing

@testable import WorkflowOperations

/// The table of states and verbs, every verb in every state, on the state machine alone.
@Suite("4 Every verb in every state")
struct VerbTableTests {
  /// A task between a prerequisite and a dependent, brought into a state.
  private struct Middle {
    static let middle = 1
    var state = WorkflowState()
    var slots: [Int] = []

    init(in wanted: AnyWorkflowTask.State, prerequisiteFinished: Bool = true) {
      for (place, prerequisites) in [[], [0], [1]].enumerated() {
        _ = state.add(
          TaskPlan(
            name: "\(place)", handle: WorkflowTask<Void>.self, work: .body { _ in Operation() },
            prerequisites: prerequisites))
      }
      guard prerequisiteFinished else {
        if wanted == .cancelled { _ = state.cancel(1) }
        _ = state.conclude()
        return
      }
      // Run the first one alone, so that the middle is ready and wanted; cancel and reset take that
      // back.
      _ = state.begin(startsEverything: true)
      _ = state.conclude()
      settle(0, .success(()))
      switch wanted {
      case .pending: break
      case .ready:
        _ = state.reset(1)
        _ = state.conclude()
      case .executing: claim(1)
      case .finished: settle(1, .success(5))
      case .failed: settle(1, .failure(TestError.first))
      case .cancelled:
        _ = state.cancel(1)
        _ = state.conclude()
      }
    }

    mutating func claim(_ task: Int) {
      let claimed = state.claim(task, run: state.run!.number)!
      _ = state.conclude()
      _ = state.attach(Operation(), slot: claimed.slot)
      slots.append(claimed.slot)
    }

    mutating func settle(_ task: Int, _ outcome: Outcome<any Sendable>) {
      if state.nodes[task].state != .executing { claim(task) }
      state.settle(slot: slots.removeLast(), outcome)
      _ = state.conclude()
    }

    var states: [AnyWorkflowTask.State] { state.nodes.map(\.state) }
  }

  enum Verb: CaseIterable {
    case start, cancel, reset, retry
  }

  private func apply(_ verb: Verb, to middle: inout Middle) -> (Bool, WorkflowEffects) {
    let changes =
      switch verb {
      case .start: middle.state.start(1)
      case .cancel: middle.state.cancel(1)
      case .reset: middle.state.reset(1)
      case .retry: middle.state.retry(1)
      }
    return (changes, middle.state.conclude())
  }

  /// What becomes of the task and its dependent, and whether the task will run then. Nil: nothing
  /// changes.
  private func expectation(
    _ verb: Verb, in state: AnyWorkflowTask.State, dependent: AnyWorkflowTask.State
  ) -> (task: AnyWorkflowTask.State, dependent: AnyWorkflowTask.State, runs: Bool)? {
    switch (verb, state) {
    case (.start, .ready): (.ready, dependent, true)
    case (.start, _): nil
    case (.cancel, .pending), (.cancel, .ready), (.cancel, .executing): (.cancelled, .cancelled, false)
    // The dependent of a finished or failed task is cancelled with it.
    case (.cancel, .finished), (.cancel, .failed): (state, .cancelled, false)
    case (.cancel, .cancelled): nil
    case (.reset, .pending): nil
    case (.reset, _): (.ready, .pending, false)
    case (.retry, .failed), (.retry, .cancelled): (.ready, .pending, true)
    case (.retry, _): nil
    }
  }

  @Test("With a finished prerequisite", arguments: Verb.allCases, AnyWorkflowTask.State.allCases.dropFirst())
  func verb_inState_doesWhatTheTableSays(verb: Verb, from: AnyWorkflowTask.State) {
    var middle = Middle(in: from)
    let before = middle.states
    #expect(before[1] == from)
    let (changes, effects) = apply(verb, to: &middle)
    guard let expected = expectation(verb, in: from, dependent: before[2]) else {
      #expect(!changes && middle.states == before)
      #expect(effects.cancelled.isEmpty && effects.ready.isEmpty && effects.start == nil)
      return
    }
    #expect(changes)
    #expect(middle.states == [.finished, expected.task, expected.dependent])
    #expect(middle.state.nodes[1].isWanted == expected.runs)
    #expect(effects.cancelled.count == (from == .executing && verb != .retry ? 1 : 0))
    // In a run its operation is told; without one, one is asked for.
    if expected.runs { #expect(effects.ready == [1] || effects.start == .wanted) }
    if verb == .reset || verb == .retry {
      #expect(middle.state.nodes[1].value == nil && middle.state.nodes[1].error == nil)
      #expect(middle.state.nodes[1].startDate == nil && middle.state.nodes[1].finishDate == nil)
    }
  }

  @Test(
    "With a prerequisite that has not finished", arguments: Verb.allCases, [AnyWorkflowTask.State.pending, .cancelled])
  func verb_withUnmetPrerequisite_doesWhatTheTableSays(verb: Verb, from: AnyWorkflowTask.State) {
    var middle = Middle(in: from, prerequisiteFinished: false)
    #expect(middle.states[1] == from)
    let (changes, effects) = apply(verb, to: &middle)
    let expected: AnyWorkflowTask.State? =
      switch (verb, from) {
      case (.cancel, .pending): .cancelled
      case (.reset, .cancelled), (.retry, .cancelled): .pending
      default: nil
      }
    #expect(changes == (expected != nil))
    #expect(middle.states == [.ready, expected ?? from, expected ?? from])
    #expect(effects.start == (verb == .retry && changes ? .wanted : nil))
    #expect(effects.ready.isEmpty && middle.state.wantedCount == 0)
  }

  @Test("A settlement in every state but executing is stale: it changes nothing, and is told")
  func settle_afterVerb_isDiscarded() {
    for verb in [Verb.cancel, .reset] {
      for outcome: Outcome<any Sendable> in [.success(1), .failure(TestError.second), .cancelled] {
        var middle = Middle(in: .executing)
        _ = apply(verb, to: &middle)
        let states = middle.states
        middle.state.isObserved = true
        middle.state.settle(slot: middle.slots[0], outcome)
        _ = middle.state.conclude()
        #expect(middle.states == states)
        let told = middle.state.outbox.entries.contains { entry in
          guard case .event(let event, _) = entry, case .attempt(let told)? = event.ending else { return false }
          return event.kind == .discarded && event.task == 1 && event.attempt == 1 && told.word == outcome.word
        }
        #expect(told)
      }
    }
  }

  @Test("A verb on everything does to each task what the table says", arguments: Verb.allCases)
  func verb_onWorkflow_reachesAll(verb: Verb) {
    for from in AnyWorkflowTask.State.allCases.dropFirst() {
      var middle = Middle(in: from)
      let before = middle.states
      switch verb {
      case .start: middle.state.startEverything()
      case .cancel: _ = middle.state.cancelEverything()
      case .reset: _ = middle.state.resetEverything()
      case .retry: _ = middle.state.retryEverything()
      }
      let effects = middle.state.conclude()
      switch verb {
      case .start:
        #expect(middle.states == before)
        #expect(middle.state.wantedCount == before.count { $0 == .ready } || effects.start == .everything)
      case .cancel:
        #expect(middle.states == before.map { [.finished, .failed].contains($0) ? $0 : .cancelled })
      case .reset:
        #expect(middle.states == [.ready, .pending, .pending])
      case .retry:
        let isRetried = from == .failed || from == .cancelled
        #expect(middle.states == (isRetried ? [.finished, .ready, .pending] : before))
      }
    }
  }
}
