import CompositeOperations
import Foundation
import TestSupport
import WorkflowOperations

/// A workflow and its model, made from one seed.
final class RandomGraph: @unchecked Sendable {  // used by one task; verbs from other threads use the workflow only
  private var random: SeededRandomNumberGenerator
  private var model: GraphModel
  private let workflow: Workflow
  private var tasks: [WorkflowTask<Int>] = []
  private var complaints: [String] = []
  private var history: [String] = []

  init(seed: UInt64) {
    var random = SeededRandomNumberGenerator(seed: seed)
    let count = random.number(1...14)
    let density = random.number(5...60)
    let failures = random.chance(70) ? random.number(0...30) : 0
    let prerequisites = (0..<count).map { task in (0..<task).filter { _ in random.chance(density) } }
    let scripts = (0..<count).map { _ in
      (0..<4).map { _ in random.chance(failures) ? random.chance(70) ? GraphModel.Ending.fail : .cancel : .succeed }
    }
    let queue = random.chance(30) ? OperationQueue(limit: random.number(1...3)) : nil
    workflow = Workflow("random", operationQueue: queue)
    if random.chance(30) { workflow.maxConcurrentOperationCount = random.number(1...3) }
    model = GraphModel(prerequisites: prerequisites, scripts: scripts)
    let isHooked = random.chance(30)
    self.random = random
    for task in 0..<count { tasks.append(addTask(task, isHooked: isHooked)) }
  }

  private func addTask(_ task: Int, isHooked: Bool) -> WorkflowTask<Int> {
    let script = model.scripts[task]
    let attempts = Locked(0)
    let ending: @Sendable (PrerequisiteResults) -> Outcome<Int> = { results in
      let attempt = attempts.increment()
      switch attempt <= script.count ? script[attempt - 1] : .succeed {
      case .succeed: return .success(results.all.reduce(attempt) { $0 &* 31 &+ ($1 as! Int) })
      case .fail: return .failure(TestError("\(task)"))
      case .cancel: return .cancelled
      }
    }
    let prerequisites: [AnyWorkflowTask] = model.prerequisites[task].map { tasks[$0] }
    let added: WorkflowTask<Int>
    switch random.number(0...3) {
    case 0:
      added = workflow.add("\(task)", unkeyed: prerequisites) { results in
        await Task.yield()
        return try ending(results).get()
      }
    case 1:
      added = workflow.add("\(task)", unkeyed: prerequisites) { results in
        let outcome = ending(results)
        return SimpleOperation<Int> { operation in DispatchQueue.global().async { operation.settle(with: outcome) } }
      }
    case 2:
      let keyed = Dictionary(uniqueKeysWithValues: prerequisites.enumerated().map { ("\($0)", $1) })
      added = workflow.add("\(task)", keyed: keyed) { results in
        let outcome = ending(results)
        return succeeding(1).then { _ in SimpleOperation<Int> { $0.settle(with: outcome) } }
      }
    default:
      added = workflow.add("\(task)", unkeyed: prerequisites) { results in
        let outcome = ending(results)
        return SimpleOperation<Int> { $0.settle(with: outcome) }
      }
    }
    if isHooked { added.didFinish = { task, value in if task.result == nil, value == 0 { task.reset() } } }
    return added
  }

  // MARK: - One thing after the other

  func runAndCompare() async -> [String] {
    model.run()
    history.append("run")
    try? await workflow.run()
    await compare()
    for _ in 0..<random.number(0...6) where complaints.isEmpty {
      let task = random.number(0...tasks.count - 1)
      switch random.number(0...6) {
      case 0:
        history.append("cancel \(task)")
        model.cancel(task)
        tasks[task].cancel()
      case 1, 2:
        history.append("reset \(task)")
        model.reset(task)
        tasks[task].reset()
      case 3:
        history.append("retry \(task)")
        let runs = model.retry(model.reach(task))
        model.run(runs)
        tasks[task].retry()
      case 4:
        history.append("start \(task)")
        model.run([task])
        tasks[task].start()
      case 5:
        history.append("retry all")
        let before = model.states
        _ = model.retry(Set(model.states.indices))
        if before != model.states || before.contains(.cancelled) || before.contains(.failed) { model.run() }
        workflow.retry()
      default:
        history.append("run")
        model.run()
        try? await workflow.run()
      }
      await workflow.untilIdle()
      await compare()
    }
    return complaints
  }

  private func compare() async {
    await workflow.untilIdle()
    let states = workflow.states
    if states != model.states { complaints.append("states: \(states), and not \(model.states)") }
    for (task, handle) in tasks.enumerated() {
      if handle.result != model.values[task] {
        complaints.append("\(task) has the result \(handle.result as Any), and not \(model.values[task] as Any)")
      }
      if handle.attempt != model.attempts[task] {
        complaints.append("\(task) had \(handle.attempt) attempts, and not \(model.attempts[task])")
      }
    }
    // A cancel without a run leaves the outcome of the last run as it is.
    let isOfLastRun = history.last == "run" || !history.contains { $0.hasPrefix("cancel") }
    if let outcome = workflow.outcome, isOfLastRun {
      if outcome.word != model.outcome {
        complaints.append("outcome: \(outcome.word), and not \(model.outcome ?? "none")")
      }
      if let error = outcome.error as? WorkflowError {
        let blocked = error.blocked.map { [Int($0.task.name)!, Int($0.cause.name)!] }
        if blocked != model.blocked { complaints.append("blocked: \(blocked), and not \(model.blocked)") }
        if error.failures.map(\.task) != tasks.filter({ $0.state == .failed }) {
          complaints.append("failures: \(error)")
        }
      }
    } else if workflow.outcome == nil, history.last == "run", model.outcome != nil {
      complaints.append("no outcome")
    }
    if !complaints.isEmpty {
      complaints += [history.joined(separator: ", "), "\(model.prerequisites)", "\(model.scripts)"]
    }
  }

  // MARK: - At any moment

  func runWithVerbsAtAnyMoment() async -> [String] {
    let (workflow, tasks) = (workflow, tasks)
    let seeds = (0..<2).map { _ in random.next() }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { try? await workflow.run() }
      for seed in seeds {
        group.addTask {
          var random = SeededRandomNumberGenerator(seed: seed)
          for _ in 0..<20 {
            let task = tasks[random.number(0...tasks.count - 1)]
            switch random.number(0...9) {
            case 0: task.start()
            case 1: task.cancel()
            case 2: task.reset()
            case 3: task.retry()
            case 4: workflow.start()
            case 5: _ = random.chance(30) ? workflow.cancel() : workflow.retry()
            case 6: if random.chance(30) { workflow.reset() } else { workflow.start() }
            case 7:
              let run = Task { try await workflow.run() }
              if random.chance(50) { run.cancel() }
              _ = await run.result
            default: await Task.yield()
            }
          }
        }
      }
    }
    await workflow.untilIdle()
    // Every script comes to its end; then everything succeeds.
    for _ in 0..<80 where workflow.outcome?.word != "success" {
      workflow.retry()
      workflow.start()
      await workflow.untilIdle()
    }
    if workflow.outcome?.word != "success" { complaints.append(workflow.debugDescription) }
    for (task, handle) in tasks.enumerated() {
      // Of two attempts that overlap, the later one may be made first.
      let expected = (1...max(1, handle.attempt)).map { attempt in
        model.prerequisites[task].reduce(attempt) { $0 &* 31 &+ (tasks[$1].result ?? 0) }
      }
      if !expected.contains(handle.result ?? 0) {
        complaints.append("\(task) has the result \(handle.result as Any), and not one of \(expected)")
      }
    }
    return complaints
  }
}
