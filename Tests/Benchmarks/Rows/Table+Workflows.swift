import CompositeOperations
import Foundation
import WorkflowOperations

extension Table {
  private static let shapes: [(name: String, make: @Sendable (Int) -> Graph)] = [
    ("a chain", Graph.chain), ("a fan out and in", Graph.fan), ("a binary tree", Graph.tree),
    ("random layers", Graph.layers),
  ]

  /// Graphs of empty tasks, built, run and released.
  static var workflows: [Row] {
    againstDependencies + againstEngine + workflowGrowth + [workflowVerbs]
  }

  /// Against operations that wait for each other in a queue, which takes quadratic time.
  private static var againstDependencies: [Row] {
    let queue = OperationQueuePeer.queue()
    // Machines differ in the cost of the peer's quadratic walk: from 110 to 370 times was measured.
    let long = (shapes[0], 8_000, 1, Row.Budget?.some(.atMost(1.0 / 300, known: 1.0 / 100)))
    let rows = shapes.map { shape in (shape, 1_000, 3, Row.Budget?.none) } + [long]
    return rows.map { shape, count, rounds, budget in
      let onDemand = GraphOnDemand { shape.make(count) }
      return Row(
        section: "Workflow", name: "\(shape.name) of \(Figures.grouped(count)) tasks", against: "addDependency",
        count: count, budget: budget, rounds: rounds,
        measurement: .comparison(
          subject: .blocking { onDemand.graph.runWorkflow() }, peer: .blocking { onDemand.graph.run(in: queue) }))
    }
  }

  /// Against the bare engine with counters: the cost of watching, retrying and resetting.
  private static var againstEngine: [Row] {
    shapes.flatMap { shape in
      [(1_000, 15), (10_000, 7), (100_000, 3)].map { count, rounds in
        let onDemand = GraphOnDemand { shape.make(count) }
        return Row(
          section: "Workflow", name: "\(shape.name) of \(Figures.grouped(count)) tasks", against: "the bare engine",
          count: count, rounds: rounds,
          measurement: .comparison(
            subject: .blocking { onDemand.graph.runWorkflow() }, peer: .blocking { onDemand.graph.runOnEngine() }))
      }
    }
  }

  /// 100,000 tasks at once against a hundred times 1,000: the time per task may hardly grow.
  private static var workflowGrowth: [Row] {
    shapes.flatMap { shape in
      let large = GraphOnDemand { shape.make(100_000) }
      let small = GraphOnDemand { shape.make(1_000) }
      return [
        Row(
          section: "Workflow growth", name: "\(shape.name) of 100,000 tasks", against: "100 of 1,000", count: 100_000,
          budget: .atMost(1.5), rounds: 3,
          measurement: .comparison(
            subject: .blocking { large.graph.runWorkflow() },
            peer: .blocking {
              for _ in 0..<100 { small.graph.runWorkflow() }
            })),
        Row(
          section: "Workflow growth", name: "\(shape.name) of 100,000 tasks, built and released",
          against: "100 of 1,000",
          count: 100_000, budget: .atMost(1.5), rounds: 5,
          measurement: .comparison(
            subject: .blocking { _ = large.graph.makeWorkflow() },
            peer: .blocking {
              for _ in 0..<100 { _ = small.graph.makeWorkflow() }
            })),
      ]
    }
  }

  /// Thirty layers of thirty tasks, each after all of the layer before; nothing runs, for the root
  /// is a condition.
  private static var workflowVerbs: Row {
    let workflow = Workflow()
    let root = workflow.addCondition(of: Int.self)
    var layer: [AnyWorkflowTask] = [root]
    for _ in 0..<30 { layer = (0..<30).map { _ in workflow.add(unkeyed: layer) { _ in emptyOperation() } } }
    let graph = Graph.fullLayers(30, of: 30)
    return Row(
      section: "Workflow", name: "cancel, retry and reset of 30 layers of 30", against: "walks through that graph",
      count: 1, budget: .atMost(4),
      measurement: .comparison(
        subject: .blocking {
          root.start()
          precondition(root.cancel() && root.retry() && root.reset())
        },
        peer: .blocking { for _ in 0..<3 { precondition(graph.walk() == 901) } }))
  }
}
