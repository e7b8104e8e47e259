import CompositeOperations
import Foundation
import Workflows

/// A graph of empty tasks: for each task those that it comes after, all of which are before it.
struct Graph: Sendable {
  let prerequisites: [[Int]]

  /// Each task after the one before.
  static func chain(_ count: Int) -> Graph {
    Graph(prerequisites: (0..<count).map { $0 == 0 ? [] : [$0 - 1] })
  }

  /// One task, many after it, and one after all of those.
  static func fan(_ count: Int) -> Graph {
    Graph(prerequisites: (0..<count).map { $0 == 0 ? [] : $0 < count - 1 ? [0] : Array(1..<count - 1) })
  }

  /// Each task after its parent in a binary tree.
  static func tree(_ count: Int) -> Graph {
    Graph(prerequisites: (0..<count).map { $0 == 0 ? [] : [($0 - 1) / 2] })
  }

  /// Layers of a hundred tasks, each after one to three of the layer before.
  static func layers(_ count: Int) -> Graph {
    var random = SystemRandomNumberGenerator()
    return Graph(
      prerequisites: (0..<count).map { task in
        let layer = task / 100
        guard layer > 0 else { return [] }
        let places = (0..<Int.random(in: 1...3, using: &random)).map { _ in Int.random(in: 0..<100, using: &random) }
        return Set(places).map { (layer - 1) * 100 + $0 }
      })
  }

  // MARK: - As a workflow

  func makeWorkflow() -> Workflow {
    let workflow = Workflow()
    var tasks: [AnyWorkflowTask] = []
    tasks.reserveCapacity(prerequisites.count)
    for places in prerequisites {
      tasks.append(workflow.add(unkeyed: places.map { tasks[$0] }) { _ in emptyOperation() })
    }
    return workflow
  }

  /// Builds the workflow, runs it, and releases it.
  func runWorkflow() {
    finish(makeWorkflow().makeOperation())
  }

  // MARK: - As operations in a queue

  /// Builds block operations that depend on each other, and runs them in a queue.
  func run(in queue: OperationQueue) {
    var operations: [Operation] = []
    operations.reserveCapacity(prerequisites.count)
    for places in prerequisites {
      let operation = BlockOperation {}
      for place in places { operation.addDependency(operations[place]) }
      operations.append(operation)
    }
    queue.addOperations(operations, waitUntilFinished: true)
  }

  // MARK: - On the bare engine

  /// Runs empty operations on the engine, with nothing but counters to say which are ready.
  func runOnEngine() {
    struct Counters {
      var dependents: [[Int]]
      var unmet: [Int]
      var left: Int
    }
    var dependents = [[Int]](repeating: [], count: prerequisites.count)
    for (task, places) in prerequisites.enumerated() {
      for place in places { dependents[place].append(task) }
    }
    let counters = LockBox(
      Counters(dependents: dependents, unmet: prerequisites.map(\.count), left: prerequisites.count))
    let roots = prerequisites.indices.filter { prerequisites[$0].isEmpty }
    finish(
      DrivenOperation<Void>(
        driver: DrivenOperation.Driver(
          didStart: { $0.run(tags: roots) },
          makeOperation: { _, task in (emptyOperation(), tag: task) },
          operationDidSettle: { driven, _, task in
            let (ready, isLast) = counters.withLock { counters in
              var ready: [Int] = []
              for dependent in counters.dependents[task] {
                counters.unmet[dependent] -= 1
                if counters.unmet[dependent] == 0 { ready.append(dependent) }
              }
              counters.left -= 1
              return (ready, counters.left == 0)
            }
            if isLast { driven.finish() }
            return ready
          },
          wasCancelled: { _ in })))
  }
}
