import CompositeOperations
import TestSupport
import Testing

@testable import ManagedOperations

@Suite("6 A manager's state", .timeLimit(.minutes(30)))
struct ManagerStateTests {
  private typealias State = ManagerState<Int>

  private func started(_ count: Int, in state: inout State) {
    started(from: 1, through: count, in: &state)
  }

  private func started(from first: Int, through last: Int, in state: inout State) {
    for id in first...last {
      _ = state.add(id, id)
      _ = state.start(id)
    }
  }

  private func intercept(_ state: inout State, _ commands: InterceptCommand...) {
    guard let drain = state.drain, let (id, _) = state.nextToIntercept(drain: drain) else { return }
    var answer = InterceptAnswer()
    for (index, command) in commands.enumerated() {
      answer.add(command, of: index, batchCount: state.batches[index].count)
    }
    state.intercepted(id, drain: drain, answer)
  }

  private func claimAll(_ state: inout State) -> [Int] {
    var claimed: [Int] = []
    for _ in 0..<state.tickets { if let (id, _) = state.claim() { claimed.append(id) } }
    return claimed
  }

  @Test("Force goes before discard, that before hold, that before execute; the first that says so decides")
  func commands_combine() {
    for first in InterceptCommand.allCases {
      for second in InterceptCommand.allCases {
        var answer = InterceptAnswer()
        answer.add(first, of: 0, batchCount: 1)
        answer.add(second, of: 1, batchCount: 1)
        let order: [InterceptCommand] = [.forceExecute, .discard, .hold, .execute]
        let expected = order.first { $0 == first || $0 == second } ?? .execute
        #expect(answer.command == expected)
        if expected != .execute { #expect(answer.decider == (first == expected ? 0 : 1)) }
        #expect(
          answer.releasing
            == [first, second].indices.filter { [.execute, .forceExecute].contains([first, second][$0]) })
      }
    }
  }

  @Test("A handle that goes while its manager is released leaves nothing to wait for, and its end is told")
  func release_handleOfPendingTaskGoes_nothingIsLeft() {
    var state = State()
    state.isObserved = true
    _ = state.add(1, 1)
    _ = state.close(.released)
    _ = state.conclude()
    state.forget(1)
    let effects = state.conclude()
    #expect(state.isIdle && state.jobs.isEmpty && effects.isIdle)
    guard state.outbox.beginDelivery() || state.outbox.isDelivering, let last = state.outbox.nextDelivery()?.last else {
      Issue.record("nothing was told")
      return
    }
    guard case .dropped = last.content else {
      Issue.record("\(last.content) was told")
      return
    }
  }

  @Test("Held tasks go before the task that releases them, each batch by itself; others stay")
  func release_ownBatchOnly_inOrder() {
    var state = State(interceptorCount: 2)
    started(5, in: &state)
    intercept(&state, .hold, .execute)
    intercept(&state, .execute, .hold)
    intercept(&state, .hold, .hold)
    #expect(state.batches.map(\.count) == [2, 1])
    intercept(&state, .execute, .pass)
    #expect(claimAll(&state) == [1, 3, 4])
    intercept(&state, .hold, .forceExecute)
    #expect(claimAll(&state) == [2, 5])
    #expect(state.heldCount == 0)
  }

  @Test("A hold or discard releases nothing, though another interceptor says execute")
  func release_notWithoutExecution() {
    var state = State(interceptorCount: 2)
    started(3, in: &state)
    intercept(&state, .hold, .execute)
    intercept(&state, .execute, .discard)
    intercept(&state, .execute, .hold)
    #expect(state.batches.map(\.count) == [1, 1])
    #expect(claimAll(&state) == [])
  }

  @Test("What a held task would have released goes when it is let go, unless that has been filled anew")
  func release_ofTheHeldTrigger_releasesWhatItWouldHave() {
    for isRefilled in [false, true] {
      var state = State(interceptorCount: 2)
      started(5, in: &state)
      intercept(&state, .hold, .pass)
      intercept(&state, .hold, .pass)
      intercept(&state, .execute, .hold)
      #expect(claimAll(&state) == [])
      if isRefilled {
        #expect(state.release(.max, of: 0) == 2)
        #expect(claimAll(&state) == [1, 2])
        intercept(&state, .hold, .pass)
      }
      guard case .held(1, let number) = state.jobs[3]?.phase else {
        Issue.record("It is not held")
        continue
      }
      let isReleased = [number + 1, number].map { state.release(id: 3, number: $0, of: 1) }
      #expect(isReleased == [false, true])
      #expect(claimAll(&state) == (isRefilled ? [3] : [1, 2, 3]))
      #expect(state.heldCount == (isRefilled ? 1 : 0))
    }
  }

  @Test("What two held tasks would have released of each other's batches goes once")
  func release_triggersOfEachOther_once() {
    var state = State(interceptorCount: 2)
    started(4, in: &state)
    intercept(&state, .hold, .pass)
    intercept(&state, .pass, .hold)
    intercept(&state, .execute, .hold)
    intercept(&state, .hold, .execute)
    #expect(state.batches.map(\.count) == [2, 2])
    #expect(state.release(.max, of: 1) == 2)
    #expect(claimAll(&state) == [2, 1, 4, 3])
    #expect(state.heldCount == 0)
  }

  @Test("A cancelled member leaves the count at once, and is not released")
  func cancel_held_leavesTheBatch() {
    var state = State(interceptorCount: 1)
    started(100, in: &state)
    for _ in 1...100 { intercept(&state, .hold) }
    for id in 1...90 {
      let settles = state.cancel(id)
      #expect(settles && state.heldCount == 100 - id)
    }
    #expect(state.release(.max, of: 0) == 10)
    #expect(claimAll(&state) == Array(91...100))
  }

  @Test("Tasks that share a key share one reaction, and an older attempt needs none")
  func reaction_singleFlight() {
    var state = State(reactors: [ReactorConfiguration()])
    started(3, in: &state)
    #expect(claimAll(&state) == [1, 2, 3])
    for id in 1...2 {
      #expect(state.attemptEnded(id) == [0])
      state.conclude(id, asks: [(0, "key")])
    }
    #expect(state.reactions.count == 1)
    let number = state.reactions.keys.first!
    #expect(state.reactions[number]?.members == [1, 2])
    state.reactionEnded(number, .answered(.requeue()))
    #expect(claimAll(&state) == [1, 2])
    #expect(state.attemptEnded(3) == [0])
    state.conclude(3, asks: [(0, "key")])
    #expect(state.reactions.isEmpty)
    #expect(claimAll(&state) == [3])
    // One that started after it needs another.
    #expect(state.attemptEnded(1) == [0])
    state.conclude(1, asks: [(0, "key")])
    #expect(state.reactions.count == 1)
  }

  @Test("Where the interceptors are asked again, what they were asked about before the last reaction needs none either")
  func reaction_madeReadyBefore() {
    var state = State(interceptorCount: 1, reactors: [ReactorConfiguration(reinterceptsOnRequeue: true)])
    started(2, in: &state)
    for _ in 1...2 { intercept(&state, .execute) }
    #expect(state.claim()?.id == 1)
    #expect(state.attemptEnded(1) == [0])
    state.conclude(1, asks: [(0, "key")])
    state.reactionEnded(state.reactions.keys.first!, .answered(.requeue()))
    // It starts after the reaction, with what it was given before.
    #expect(state.claim()?.id == 2)
    #expect(state.attemptEnded(2) == [0])
    state.conclude(2, asks: [(0, "key")])
    #expect(state.reactions.isEmpty)
    for _ in 1...2 { intercept(&state, .execute) }
    #expect(claimAll(&state) == [1, 2])
    #expect(state.attemptEnded(2) == [0])
    state.conclude(2, asks: [(0, "key")])
    #expect(state.reactions.count == 1)
  }

  @Test("Where the interceptors only hold, what starts after the last reaction needs another one")
  func reaction_interceptorsOnlyHold_startCounts() {
    var state = State(
      interceptorCount: 1, interceptorsOnlyHold: true, reactors: [ReactorConfiguration(reinterceptsOnRequeue: true)])
    started(3, in: &state)
    for _ in 1...3 { intercept(&state, .execute) }
    #expect(state.claim()?.id == 1)
    #expect(state.claim()?.id == 2)
    #expect(state.attemptEnded(1) == [0])
    state.conclude(1, asks: [(0, "key")])
    state.reactionEnded(state.reactions.keys.first!, .answered(.requeue()))
    #expect(state.attemptEnded(2) == [0])
    state.conclude(2, asks: [(0, "key")])
    #expect(state.reactions.isEmpty)
    #expect(state.claim()?.id == 3)
    #expect(state.attemptEnded(3) == [0])
    state.conclude(3, asks: [(0, "key")])
    #expect(state.reactions.count == 1)
  }

  @Test("What was intercepted before such a reaction, with what it outdates, is intercepted again before it starts")
  func claim_outdated_isAskedAboutAgain() {
    var state = State(interceptorCount: 1, reactors: [ReactorConfiguration(reinterceptsOnRequeue: true)])
    let keys = ["new": ReactionKey(reactor: 0, key: "key"), "other": ReactionKey(reactor: 0, key: "other")]
    func intercept(_ command: InterceptCommand, _ key: String) {
      guard let drain = state.drain, let (id, _) = state.nextToIntercept(drain: drain) else { return }
      var answer = InterceptAnswer()
      answer.add(command, of: 0, batchCount: state.batches[0].count)
      state.intercepted(id, drain: drain, answer, outdatingKeys: [keys[key]!])
    }
    started(6, in: &state)
    for _ in 1...4 { intercept(.execute, "new") }
    intercept(.execute, "other")
    #expect(state.claim()?.id == 1)
    #expect(state.attemptEnded(1) == [0])
    state.conclude(1, asks: [(0, "key")])
    state.reactionEnded(state.reactions.keys.first!, .answered(.requeue()))
    intercept(.execute, "new")
    #expect(claimAll(&state) == [1, 5])
    #expect(state.jobs[2]?.attempt == 0 && state.jobs[2]?.phase == .waiting)
    // They have been let pass before, and release nothing of what came later.
    intercept(.hold, "new")
    intercept(.execute, "new")
    intercept(.discard, "new")
    #expect(claimAll(&state) == [2, 3])
    #expect(state.jobs[4]?.phase == .settling(.handle))
    intercept(.hold, "new")
    #expect(state.heldCount == 1)
  }

  @Test("After a stop no attempt starts, though the manager was suspended or reacting")
  func stopped_claimsNothing() {
    var state = State(reactors: [ReactorConfiguration(suspendsQueue: true)])
    started(3, in: &state)
    #expect(state.claim()?.id == 1)
    #expect(state.attemptEnded(1) == [0])
    state.conclude(1, asks: [(0, "key")])
    _ = state.close(.stopped)
    #expect(claimAll(&state) == [])
  }

  @Test("After a stop no interceptor is asked, also before what waits has been cancelled")
  func stopped_asksNoInterceptor() {
    var state = State(interceptorCount: 1)
    started(3, in: &state)
    let drain = state.drain!
    #expect(state.nextToIntercept(drain: drain)?.id == 1)
    _ = state.add(4, 4)
    #expect(state.close(.stoppedWithGrace) == [1, 2, 3, 4])
    // It is started just before its cancel.
    _ = state.start(4)
    state.intercepted(1, drain: drain, InterceptAnswer())
    #expect(state.nextToIntercept(drain: drain) == nil)
    #expect(state.drain == nil)
    for id in 1...4 {
      let settles = state.cancel(id)
      #expect(settles)
      state.announced(id)
    }
    #expect(state.isIdle && state.drain == nil)
  }

  @Test("Until a failed attempt's reactor that suspends the queue is asked, nothing starts", arguments: [false, true])
  func attemptFailed_suspendingReactorNotAsked_claimsNothing(reacts: Bool) {
    var state = State(reactors: [ReactorConfiguration(suspendsQueue: true)])
    started(3, in: &state)
    #expect(state.claim()?.id == 1)
    #expect(state.attemptEnded(1) { _ in .failure(TestError("refused")) } == [0])
    #expect(state.claim() == nil)
    state.conclude(1, asks: reacts ? [(0, "key")] : [])
    #expect(state.claim()?.id == (reacts ? nil : 2))
  }

  @Test("An attempt that needs no further reaction waits as long as those that had it")
  func reaction_lateAttempt_hasItsDelay() {
    var state = State(reactors: [ReactorConfiguration()])
    started(2, in: &state)
    #expect(claimAll(&state) == [1, 2])
    #expect(state.attemptEnded(1) == [0])
    state.conclude(1, asks: [(0, "key")])
    state.reactionEnded(state.reactions.keys.first!, .answered(.requeue(after: .seconds(30))))
    _ = state.conclude()
    #expect(state.attemptEnded(2) == [0])
    state.conclude(2, asks: [(0, "key")])
    guard case .setTimer(2, _, .seconds(30))? = state.conclude().actions.last else {
      Issue.record("it is not delayed")
      return
    }
  }

  @Test("A failing reaction goes before one that requeues, and that before delivering; the longest delay counts")
  func verdicts_combine() {
    let answers: [ReactionAnswer] = [
      .answered(.deliver), .answered(.requeue(after: .seconds(2))), .answered(.requeue(after: .seconds(5))),
      .answered(.fail(TestError.first)),
    ]
    for (first, second) in [(0, 0), (0, 1), (1, 2), (2, 1), (1, 3), (3, 0)] {
      var state = State(reactors: [ReactorConfiguration(), ReactorConfiguration()])
      started(1, in: &state)
      _ = claimAll(&state)
      _ = state.attemptEnded(1)
      state.conclude(1, asks: [(0, nil), (1, nil)])
      let numbers = state.reactions.sorted { $0.value.reactor < $1.value.reactor }.map(\.key)
      _ = state.conclude()
      state.reactionEnded(numbers[0], answers[first])
      #expect(state.jobs[1]?.phase == .reacting)
      state.reactionEnded(numbers[1], answers[second])
      let last = state.conclude().actions.last
      switch (max(first, second), last) {
      case (3, .settle(1, .error(let error))?): #expect(error as? TestError == .first)
      case (2, .setTimer(1, _, let delay)?): #expect(delay == .seconds(5))
      case (1, .setTimer(1, _, let delay)?): #expect(delay == .seconds(2))
      case (0, .settle(1, .asLastAttempt)?): break
      default: Issue.record("\(first) and \(second) led to \(String(describing: last))")
      }
    }
  }

  @Test("Keys of reactions that no longer matter to an attempt are forgotten")
  func keys_areForgotten() {
    var state = State(reactors: [ReactorConfiguration()])
    for id in 1...1_000 {
      _ = state.add(id, id)
      _ = state.start(id)
      _ = state.claim()
      _ = state.attemptEnded(id)
      state.conclude(id, asks: [(0, "\(id)")])
      state.reactionEnded(state.reactions.keys.first!, .answered(.requeue()))
      _ = state.claim()
      _ = state.cancel(id)
      _ = state.attemptEnded(id)
      state.announced(id)
    }
    #expect(state.lastRequeues.count <= 64)
    #expect(state.isIdle)
  }

  @Test("A task that is cancelled before its turn leaves its place, though no place is taken", arguments: [0, 1])
  func cancel_inALine_leavesIt(interceptorCount: Int) {
    var state = State(interceptorCount: interceptorCount)
    state.setSuspended(true)
    for id in 1...10_000 {
      started(from: id, through: id, in: &state)
      if !id.isMultiple(of: 1_000) { _ = state.cancel(id) }
    }
    #expect(state.line.count + state.ready.count <= 100)
    for _ in 0..<state.line.count { intercept(&state, .execute) }
    #expect(state.ready.count <= 100)
    state.setSuspended(false)
    #expect(claimAll(&state) == Array(stride(from: 1_000, through: 10_000, by: 1_000)))
  }

  @Test("A line gives the requeued ones first, and does not grow for ever")
  func line_urgentFirst() {
    var line = TaskLine()
    line.append(1, isUrgent: false)
    line.append(2, isUrgent: true)
    line.append(3, isUrgent: true)
    #expect(line.count == 3)
    #expect([line.popFirst(), line.popFirst(), line.popFirst(), line.popFirst()] == [2, 3, 1, nil])
    line.append(0, isUrgent: false)
    for number in 1...100_000 {
      line.append(number, isUrgent: false)
      #expect(line.popFirst() == number - 1)
    }
    #expect(line.count == 1)
  }
}
