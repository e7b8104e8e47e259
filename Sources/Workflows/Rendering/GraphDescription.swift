import CompositeOperations

/// A graph as it is drawn: nodes with a kind and a state, and what leads from one to another.
struct GraphDescription {
  /// What a node stands for, which is its shape.
  enum Kind {
    case work, condition, group
  }

  struct Node {
    /// A name for the drawing alone, made of letters, digits and underscores.
    let identifier: String
    let name: String
    let kind: Kind
    let state: AnyWorkflowTask.State
    /// What is inside of it.
    let contents: GraphDescription?
  }

  struct Edge {
    let from: String
    let to: String
    let label: String?
  }

  var title = ""
  var nodes: [Node] = []
  var edges: [Edge] = []

  /// Describes a workflow and those inside of it, as they stand now.
  init(_ workflow: Workflow, prefix: String = "t") {
    title = workflow.name
    for (index, node) in workflow.storage.withLock(\.state.nodes).enumerated() {
      let identifier = "\(prefix)\(index + 1)"
      let subworkflow = node.plan.subworkflow
      nodes.append(
        Node(
          identifier: identifier, name: node.plan.name ?? TaskNames.automatic(index),
          kind: subworkflow != nil ? .group : node.plan.isCondition ? .condition : .work, state: node.state,
          contents: subworkflow.map { GraphDescription($0, prefix: "\(identifier)_") }))
      for (place, prerequisite) in node.plan.prerequisites.enumerated() {
        let label = place < node.plan.keys.count ? node.plan.keys[place] : nil
        edges.append(Edge(from: "\(prefix)\(prerequisite + 1)", to: identifier, label: label))
      }
    }
  }
}

extension AnyWorkflowTask.State {
  /// The colours that a task in this state is drawn in.
  var colors: (fill: String, line: String) {
    switch self {
    case .pending: ("#eceff1", "#90a4ae")
    case .ready: ("#e3f2fd", "#1e88e5")
    case .executing: ("#fff8e1", "#ffb300")
    case .finished: ("#e8f5e9", "#43a047")
    case .failed: ("#ffebee", "#e53935")
    case .cancelled: ("#f3e5f5", "#8e24aa")
    }
  }
}
