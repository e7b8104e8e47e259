import CompositeOperations
import Foundation
import TestSupport
import WorkflowOperations

/// Three workflows, one inside the other, whose tasks fail and are cancelled now and then.
struct RandomNest {
  private let workflows: [Workflow]
  private let seeds: [UInt64]

  init(seed: UInt64) {
    var random = SeededRandomNumberGenerator(seed: seed)
    var workflows: [Workflow] = []
    for level in 0..<3 {
      let workflow = Workflow("level \(level)")
      let before = workflow.addScripted("before", RandomNest.script(&random))
      let inner = workflows.last.map { workflow.addSubworkflow("inner", $0, after: before) }
      let beside = workflow.addScripted("beside", RandomNest.script(&random), after: before)
      workflow.addScripted("after", RandomNest.script(&random), after: inner ?? before, beside)
      if random.chance(30) { workflow.maxConcurrentOperationCount = 1 }
      if random.chance(30) { workflow.failurePolicy = .cancelRemaining }
      workflows.append(workflow)
    }
    self.workflows = workflows
    seeds = (0..<2).map { _ in random.next() }
  }

  private static func script(_ random: inout SeededRandomNumberGenerator) -> [Outcome<Int>] {
    (0..<2).map { _ in random.chance(20) ? random.chance(50) ? .failure(TestError.first) : .cancelled : .success(1) }
  }

  /// Runs the outermost workflow, and uses all of them from two threads meanwhile.
  func useAtRandom() async {
    let workflows = workflows
    await withTaskGroup(of: Void.self) { group in
      group.addTask { try? await workflows[2].run() }
      for seed in seeds {
        group.addTask {
          var random = SeededRandomNumberGenerator(seed: seed)
          for _ in 0..<20 {
            let workflow = workflows[random.number(0...2)]
            let task = workflow.tasks[random.number(0...workflow.tasks.count - 1)]
            switch random.number(0...9) {
            case 0: task.start()
            case 1: task.cancel()
            case 2: task.reset()
            case 3: task.retry()
            case 4: workflow.start()
            case 5: workflow.retry()
            case 6: _ = random.chance(30) ? workflow.cancel() : workflow.retry()
            case 7: if random.chance(30) { workflow.reset() } else { workflow.start() }
            default: await Task.yield()
            }
          }
        }
      }
    }
    await untilIdle()
  }

  private func untilIdle() async {
    while workflows.contains(where: \.isRunning) { for workflow in workflows { await workflow.untilIdle() } }
  }

  /// Whether all of it finishes when it is reset and run, once the scripts have come to their ends.
  func succeeds() async -> Bool {
    for _ in 0..<20 {
      workflows[2].reset()
      let outcome = await workflows[2].outcomeOfRun()
      await untilIdle()
      if outcome.word == "success" {
        return workflows.allSatisfy { $0.outcome?.word == "success" && $0.states.allSatisfy { $0 == .finished } }
      }
    }
    return false
  }

  var description: String { workflows.map(\.debugDescription).joined(separator: "\n") }
}
