import CompositeOperations
import OperationTimelines

extension Workflow {
  /// Draws the tasks and their states in the DOT language of Graphviz.
  ///
  /// Conditions are hexagons; a subworkflow is a box around its tasks. The colour shows the state.
  /// An edge has the key of the prerequisite, if it has one. Of workflows that are nested more than
  /// 24 deep, the innermost are left out.
  public func dot() -> String {
    GraphDescription(self).dot()
  }

  /// Draws the tasks and their states as a Mermaid flow chart, which many Markdown viewers show.
  ///
  /// It shows the same as ``dot()``.
  public func mermaid() -> String {
    GraphDescription(self).mermaid()
  }
}

extension GraphDescription {
  /// How many levels of workflows are drawn as boxes in boxes, as of compositions: those in the
  /// last of them are drawn without what is in them. Neither a reader nor a renderer makes sense of
  /// more.
  private static let maxDepth = 24

  /// Describes a workflow and those inside of it, as they stand now.
  init(_ workflow: Workflow) {
    self.init(workflow, prefix: "t", depth: 0)
  }

  private init(_ workflow: Workflow, prefix: String, depth: Int) {
    self.init(title: workflow.name)
    for (index, node) in workflow.storage.withLock(\.state.nodes).enumerated() {
      let identifier = "\(prefix)\(index + 1)"
      let subworkflow = node.plan.subworkflow
      nodes.append(
        Node(
          identifier: identifier, name: node.plan.name(at: index),
          kind: subworkflow != nil ? .group : node.plan.isCondition ? .condition : .work, state: State(node.state),
          contents: depth == GraphDescription.maxDepth
            ? nil : subworkflow.map { GraphDescription($0, prefix: "\(identifier)_", depth: depth + 1) }))
      for (place, prerequisite) in node.plan.prerequisites.enumerated() {
        let label = place < node.plan.keys.count ? node.plan.keys[place] : nil
        edges.append(Edge(from: "\(prefix)\(prerequisite + 1)", to: identifier, label: label))
      }
    }
  }
}

extension GraphDescription.State {
  fileprivate init(_ state: AnyWorkflowTask.State) {
    self =
      switch state {
      case .pending: .pending
      case .ready: .ready
      case .executing: .executing
      case .finished: .finished
      case .failed: .failed
      case .cancelled: .cancelled
      }
  }
}
