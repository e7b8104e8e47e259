import CompositeOperations
import Foundation
import TestSupport
import Testing

@testable import WorkflowOperations

/// What holds in small graphs, whatever happens in whatever order.
@Suite("4 WorkflowState, all short paths")
struct WorkflowStateWalkTests {
  enum Step: Hashable {
    case start(Int), cancel(Int), reset(Int), retry(Int)
    case startAll, cancelAll, resetAll, retryAll
    case begin, cancelRun
    case claim(Int), succeed(Int), fail(Int), settleCancelled(Int)
    case fulfill(Int)
  }

  /// The machine, and what the shell would know: the slots of live attempts and the places that a
  /// run was told.
  struct World {
    var state = WorkflowState()
    var live: [Int] = []
    var told: Set<[Int]> = []
    var endedRuns: Set<Int> = []

    init(
      _ graph: [[Int]], conditions: Set<Int> = [], policy: FailurePolicy = .waitForAll, isObserved: Bool = false
    ) {
      state.failurePolicy = policy
      state.isObserved = isObserved
      for (task, prerequisites) in graph.enumerated() {
        let work: TaskPlan.Work = conditions.contains(task) ? .condition : .body { _ in Operation() }
        _ = state.add(
          TaskPlan(name: "\(task)", handle: WorkflowTask<Int>.self, work: work, prerequisites: prerequisites))
      }
      _ = state.conclude()
    }

    var key: [Int] {
      var key = state.nodes.flatMap { node in
        [
          node.state.rawValue, node.isWanted ? 1 : 0,
          node.handedInTo == 0 ? 0 : node.handedInTo == state.run?.number ? 1 : 2,
        ]
      }
      key += live.map { slot in
        let attempt = state.attempts[slot]!
        let runKind = attempt.run == state.run?.number ? 0 : 1
        return attempt.task * 4 + runKind * 2 + (state.nodes[attempt.task].slot == slot ? 1 : 0)
      }.sorted()
      key += [-1, state.run == nil ? 0 : 1, state.run?.startsEverything == true ? 1 : 0]
      key += [state.run?.wasCancelled == true ? 1 : 0, state.run?.isClosing == true ? 1 : 0, state.draining.count]
      key += state.fulfilments.keys.sorted()
      return key
    }

    var steps: [Step] {
      let tasks = state.nodes.indices
      var steps: [Step] = [.startAll, .cancelAll, .resetAll, .retryAll, .begin]
      for task in tasks {
        steps += [.start(task), .cancel(task), .reset(task), .retry(task)]
        if state.nodes[task].plan.isCondition { steps.append(.fulfill(task)) }
        if let run = state.run, told.contains([task, run.number]) { steps.append(.claim(task)) }
      }
      if state.run != nil { steps.append(.cancelRun) }
      if live.count < 4 {
        for index in live.indices { steps += [.succeed(index), .fail(index), .settleCancelled(index)] }
      } else {
        steps.removeAll { if case .claim = $0 { true } else { false } }
        for index in live.indices { steps.append(.succeed(index)) }
      }
      return steps
    }

    mutating func take(_ step: Step) -> String? {
      let old = state
      switch step {
      case .start(let task): _ = state.start(task)
      case .cancel(let task): _ = state.cancel(task)
      case .reset(let task): _ = state.reset(task)
      case .retry(let task): _ = state.retry(task)
      case .startAll: state.startEverything()
      case .cancelAll: _ = state.cancelEverything()
      case .resetAll: _ = state.resetEverything()
      case .retryAll: _ = state.retryEverything()
      case .begin: _ = state.begin(startsEverything: true)
      case .cancelRun: state.runWasCancelled(state.run!.number)
      case .claim(let task):
        told.remove([task, state.run!.number])
        if let claimed = state.claim(task, run: state.run!.number) {
          live.append(claimed.slot)
          if old.nodes[task].state != .ready || !old.nodes[task].isWanted { return "\(task) starts wrongly" }
        }
      case .succeed(let index): state.settle(slot: live.remove(at: index), .success(1))
      case .fail(let index): state.settle(slot: live.remove(at: index), .failure(TestError.first))
      case .settleCancelled(let index): state.settle(slot: live.remove(at: index), .cancelled)
      case .fulfill(let task): _ = state.fulfill(task, with: 1)
      }
      return conclude() ?? complaint
    }

    /// Does what the shell does with the effects.
    private mutating func conclude() -> String? {
      var effects = state.conclude()
      while true {
        if let complaint = take(effects.ready, effects.ends, run: effects.run) { return complaint }
        if effects.delivers {
          while let entries = state.outbox.nextDelivery() {
            for entry in entries {
              if let complaint = deliver(entry) { return complaint }
            }
          }
        }
        guard let start = effects.start else { return nil }
        _ = state.begin(startsEverything: start == .everything)
        effects = state.conclude()
      }
    }

    private mutating func deliver(_ entry: OutboxEntry) -> String? {
      switch entry {
      case .event, .toldStart: return nil
      case .handIn(let tasks, let run): return take(tasks, [], run: run)
      case .end(let end): return take([], [end], run: 0)
      case .endIfIdle:
        state.endIfIdle()
        let effects = state.conclude()
        return effects.delivers || !effects.ready.isEmpty || effects.start != nil ? "An end with consequences" : nil
      }
    }

    private mutating func take(_ ready: [Int], _ ends: [RunEnd], run: Int) -> String? {
      for task in ready {
        guard run == state.run?.number else { return "Told a run that is not current" }
        if !told.insert([task, run]).inserted { return "\(task) is told twice" }
      }
      for end in ends where !endedRuns.insert(end.run).inserted { return "Run \(end.run) ends twice" }
      return nil
    }

    /// What must hold after every input.
    private var complaint: String? {
      var counts = TaskCounts()
      for (task, node) in state.nodes.enumerated() {
        counts[node.state] += 1
        let unmet = node.plan.prerequisites.count { state.nodes[$0].state != .finished }
        if node.unmetCount != unmet { return "\(task) counts \(node.unmetCount) unmet of \(unmet)" }
        switch node.state {
        case .pending: if unmet == 0 { return "\(task) is pending without a reason" }
        case .ready, .executing, .finished, .failed: if unmet > 0 { return "\(task) is \(node.state) too early" }
        case .cancelled: break
        }
        if node.isWanted, node.state != .ready { return "\(task) is wanted and \(node.state)" }
        if (node.value != nil) != (node.state == .finished) {
          return "\(task) is \(node.state) and has the wrong value"
        }
        if (node.error != nil) != (node.state == .failed) { return "\(task) is \(node.state) and has the wrong error" }
        if node.state == .executing, !node.plan.isCondition, node.slot.map({ state.attempts[$0]?.task }) != task {
          return "\(task) executes without an attempt"
        }
        if node.state != .executing, node.slot != nil { return "\(task) is \(node.state) with an attempt" }
        if let run = state.run, node.isWanted, !told.contains([task, run.number]) { return "\(task) is forgotten" }
      }
      for each in AnyWorkflowTask.State.allCases where counts[each] != state.counts[each] {
        return "\(each) is miscounted"
      }
      if state.liveCount != live.count { return "\(live.count) attempts are counted as \(state.liveCount)" }
      let busy = state.liveCount + state.wantedCount + state.waitingCount > 0
      if busy != (state.run != nil) {
        // Attempts of a cancelled run are waited for without one.
        if !busy || state.draining.isEmpty || state.wantedCount + state.waitingCount > 0 {
          return "A run is \(state.run == nil ? "missing" : "not ended")"
        }
      }
      if state.run == nil, state.draining.isEmpty, state.lastRun > 0, endedRuns.count != state.lastRun {
        return "Runs are not ended: \(endedRuns) of \(state.lastRun)"
      }
      if state.settlement != nil, counts[.ready] > 0 { return "An outcome, and tasks that can run" }
      if case .finished = state.settlement, counts[.finished] != state.nodes.count { return "Success too early" }
      if case .failed(let record) = state.settlement, record.failures.isEmpty { return "A failure without one" }
      return nil
    }
  }

  private func walk(_ start: World, limit: Int) -> (states: Int, complaints: [String]) {
    var pending: [(World, [Step])] = [(start, [])]
    var known: Set<[Int]> = [start.key]
    var complaints: [String] = []
    var next = 0
    while next < pending.count, next < limit, complaints.count < 5 {
      let (world, path) = pending[next]
      pending[next] = (World([]), [])
      next += 1
      for step in world.steps {
        var copy = world
        if let complaint = copy.take(step) {
          complaints.append("\(complaint), after \((path + [step]).map { "\($0)" }.joined(separator: ", "))")
        } else if known.insert(copy.key).inserted {
          pending.append((copy, path + [step]))
        }
      }
    }
    return (next, complaints)
  }

  @Test(
    "The rules hold after every input, on every short path",
    arguments: [[[], [0]], [[], [0], [0, 1]], [[], [], [0, 1]], [[], [0], [0], [1, 2]]],
    [FailurePolicy.waitForAll, .cancelRemaining])
  func anySteps_inAnyOrder_keepTheRules(graph: [[Int]], policy: FailurePolicy) {
    let (states, complaints) = walk(World(graph, policy: policy), limit: Scale.count(1_500, least: 400))
    let (_, observed) = walk(World(graph, policy: policy, isObserved: true), limit: 300)
    #expect(observed == [])
    #expect(complaints == [])
    #expect(states > 200, "\(states) states")
  }

  @Test("The same with conditions", arguments: [[0], [1], [0, 1], [2]] as [Set<Int>])
  func anySteps_withConditions_keepTheRules(conditions: Set<Int>) {
    let world = World([[], [0], [0, 1]], conditions: conditions)
    let (states, complaints) = walk(world, limit: Scale.count(800, least: 300))
    #expect(complaints == [])
    #expect(states > 100, "\(states) states")
  }
}
