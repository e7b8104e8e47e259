import WorkflowOperations

/// A workflow as simple as it can be said: one task after the other, by recursion, without attempts
/// or threads.
struct GraphModel {
  enum Ending {
    case succeed, fail, cancel
  }

  let prerequisites: [[Int]]
  /// How each attempt of each task ends; after the end of a list they succeed.
  let scripts: [[Ending]]
  var states: [AnyWorkflowTask.State]
  var values: [Int?]
  var attempts: [Int]

  init(prerequisites: [[Int]], scripts: [[Ending]]) {
    self.prerequisites = prerequisites
    self.scripts = scripts
    states = prerequisites.map { $0.isEmpty ? .ready : .pending }
    values = prerequisites.map { _ in nil }
    attempts = prerequisites.map { _ in 0 }
  }

  private func isMet(_ task: Int) -> Bool { prerequisites[task].allSatisfy { states[$0] == .finished } }

  private func dependents(of task: Int) -> [Int] { prerequisites.indices.filter { prerequisites[$0].contains(task) } }

  private mutating func settleReadiness(of task: Int) {
    if states[task] == .pending || states[task] == .ready { states[task] = isMet(task) ? .ready : .pending }
  }

  /// The task and everything after it.
  func reach(_ task: Int) -> Set<Int> {
    dependents(of: task).reduce(into: [task]) { $0.formUnion(reach($1)) }
  }

  mutating func run(_ started: Set<Int>? = nil) {
    var queue = (started ?? Set(states.indices)).filter { states[$0] == .ready }.sorted()
    while let task = queue.popLast() {
      guard states[task] == .ready else { continue }
      attempts[task] += 1
      let script = scripts[task]
      switch attempts[task] <= script.count ? script[attempts[task] - 1] : .succeed {
      case .succeed:
        states[task] = .finished
        values[task] = prerequisites[task].reduce(attempts[task]) { $0 &* 31 &+ values[$1]! }
        for dependent in dependents(of: task) where states[dependent] == .pending && isMet(dependent) {
          states[dependent] = .ready
          queue.append(dependent)
        }
      case .fail: states[task] = .failed
      case .cancel:
        states[task] = .ready
        cancel(task)
      }
    }
  }

  mutating func cancel(_ task: Int) {
    for reached in reach(task) where [.pending, .ready].contains(states[reached]) { states[reached] = .cancelled }
  }

  mutating func reset(_ task: Int) {
    let reached = reach(task)
    for other in reached {
      states[other] = .pending
      values[other] = nil
    }
    for other in states.indices { settleReadiness(of: other) }
  }

  /// Returns the tasks that run now.
  mutating func retry(_ tasks: Set<Int>) -> Set<Int> {
    let retried = tasks.filter { states[$0] == .failed || states[$0] == .cancelled }
    for task in retried { states[task] = .pending }
    for task in retried { settleReadiness(of: task) }
    return retried.filter { states[$0] == .ready }
  }

  /// What the workflow comes to, once nothing runs.
  var outcome: String? {
    if states.allSatisfy({ $0 == .finished }) { return "success" }
    if states.contains(.ready) { return nil }
    return states.contains(.failed) ? "failure" : "cancelled"
  }

  /// The blocked tasks, each with the first task that keeps it from running.
  var blocked: [[Int]] {
    func causes(_ task: Int) -> Set<Int> {
      switch states[task] {
      case .failed, .cancelled: [task]
      case .pending: prerequisites[task].reduce(into: []) { $0.formUnion(causes($1)) }
      case .ready, .executing, .finished: []
      }
    }
    return states.indices.filter { states[$0] == .pending }.compactMap { task in causes(task).min().map { [task, $0] } }
  }
}
