import CompositeOperations
import CompositeOperationsTestKit
import Foundation
import WorkflowOperations

/// A graph of empty tasks: for each task its prerequisites, all of which have lower numbers.
struct Graph: Sendable {
  /// The prerequisites of all tasks in one array, so that reading them does not affect the
  /// measurement.
  private var places: [Int] = []
  /// Where the prerequisites of each task begin, and where the last ones end.
  private var starts = [0]

  private init(_ count: Int, prerequisites: (Int) -> some Sequence<Int>) {
    for task in 0..<count {
      places += prerequisites(task)
      starts.append(places.count)
    }
  }

  var tasks: Range<Int> { 0..<starts.count - 1 }

  func prerequisites(of task: Int) -> ArraySlice<Int> { places[starts[task]..<starts[task + 1]] }

  /// Tasks without prerequisites.
  static func loose(_ count: Int) -> Graph {
    Graph(count) { _ in 0..<0 }
  }

  /// Each task after the one before.
  static func chain(_ count: Int) -> Graph {
    Graph(count) { $0 == 0 ? 0..<0 : $0 - 1..<$0 }
  }

  /// One task, many after it, and one after all of those.
  static func fan(_ count: Int) -> Graph {
    Graph(count) { $0 == 0 ? 0..<0 : $0 < count - 1 ? 0..<1 : 1..<count - 1 }
  }

  /// Each task after its parent in a binary tree.
  static func tree(_ count: Int) -> Graph {
    Graph(count) { $0 == 0 ? 0..<0 : ($0 - 1) / 2..<($0 + 1) / 2 }
  }

  /// Layers of a hundred tasks, each after one to three of the layer before.
  static func layers(_ count: Int) -> Graph {
    var random = SeededRandomNumberGenerator(seed: 7)
    return Graph(count) { task in
      let layer = task / 100
      guard layer > 0 else { return Set<Int>() }
      let places = (0..<Int.random(in: 1...3, using: &random)).map { _ in Int.random(in: 0..<100, using: &random) }
      return Set(places.map { (layer - 1) * 100 + $0 })
    }
  }

  /// One task, and layers of tasks, each after all of the layer before.
  static func fullLayers(_ layers: Int, of width: Int) -> Graph {
    Graph(1 + layers * width) { task in
      let layer = (task + width - 1) / width
      return layer == 0 ? 0..<0 : layer == 1 ? 0..<1 : (layer - 2) * width + 1..<(layer - 1) * width + 1
    }
  }

  /// Visits each task once, from the last layer on, and returns how many there are.
  func walk() -> Int {
    var isVisited = [Bool](repeating: false, count: tasks.count)
    var visited = 0
    for last in tasks.reversed() where !isVisited[last] {
      var open = [last]
      isVisited[last] = true
      while let task = open.popLast() {
        visited += 1
        for place in prerequisites(of: task) where !isVisited[place] {
          isVisited[place] = true
          open.append(place)
        }
      }
    }
    return visited
  }

  // MARK: - As a workflow

  func makeWorkflow() -> Workflow {
    let workflow = Workflow()
    var tasks: [AnyWorkflowTask] = []
    tasks.reserveCapacity(self.tasks.count)
    for task in self.tasks {
      tasks.append(workflow.add(unkeyed: prerequisites(of: task).map { tasks[$0] }) { _ in emptyOperation() })
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
    operations.reserveCapacity(tasks.count)
    for task in tasks {
      let operation = BlockOperation {}
      for place in prerequisites(of: task) { operation.addDependency(operations[place]) }
      operations.append(operation)
    }
    queue.addOperations(operations, waitUntilFinished: true)
  }

  // MARK: - On the bare engine

  /// Runs empty operations on the engine, with only counters to tell which are ready.
  func runOnEngine() {
    struct Counters {
      var dependents: [[Int]]
      var unmet: [Int]
      var left: Int
    }
    var dependents = [[Int]](repeating: [], count: tasks.count)
    for task in tasks {
      for place in prerequisites(of: task) { dependents[place].append(task) }
    }
    let counters = LockBox(
      Counters(dependents: dependents, unmet: tasks.map { prerequisites(of: $0).count }, left: tasks.count))
    let roots = tasks.filter { prerequisites(of: $0).isEmpty }
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

/// A graph that is made when it is first needed, and kept.
struct GraphOnDemand: Sendable {
  private let made = LockBox<Graph?>(nil)
  private let make: @Sendable () -> Graph

  init(_ make: @escaping @Sendable () -> Graph) {
    self.make = make
  }

  var graph: Graph {
    made.withLock { made in
      let graph = made ?? make()
      made = graph
      return graph
    }
  }
}
