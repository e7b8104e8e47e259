import CompositeOperations

/// A graph to draw: nodes with a kind and a state, and edges between them.
package struct GraphDescription: Sendable {
  /// What a node stands for, which determines its shape.
  package enum Kind: Sendable {
    case work, condition, group
  }

  /// The state of a node, which determines its colour. The names are those of the classes in
  /// drawings.
  package enum State: String, CaseIterable, Sendable {
    case pending, ready, executing, finished, failed, cancelled

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

  package struct Node: Sendable {
    /// A name inside of the drawing, made of letters, digits and underscores.
    package let identifier: String
    package let name: String
    package let kind: Kind
    package let state: State
    /// The graph inside of the node.
    package var contents: GraphDescription?

    package init(identifier: String, name: String, kind: Kind, state: State, contents: GraphDescription? = nil) {
      self.identifier = identifier
      self.name = name
      self.kind = kind
      self.state = state
      self.contents = contents
    }
  }

  package struct Edge: Sendable {
    package let from: String
    package let to: String
    package let label: String?

    package init(from: String, to: String, label: String? = nil) {
      self.from = from
      self.to = to
      self.label = label
    }
  }

  package var title: String
  package var nodes: [Node] = []
  package var edges: [Edge] = []

  package init(title: String = "") {
    self.title = title
  }

  /// One node in each group, by the identifier of the group.
  private var nodesOfGroups: [String: String] {
    var nodes: [String: String] = [:]
    var pending = self.nodes
    while let node = pending.popLast() {
      guard let contents = node.contents, var inner = contents.nodes.first else { continue }
      while let next = inner.contents?.nodes.first { inner = next }
      nodes[node.identifier] = inner.identifier
      pending += contents.nodes
    }
    return nodes
  }

  /// The graph as a Mermaid flow chart.
  package func mermaid() -> String {
    var lines = ["flowchart TD"]
    MermaidNotation.add(self, to: &lines, groups: [:])
    for state in State.allCases {
      lines.append("  classDef \(state) fill:\(state.colors.fill),stroke:\(state.colors.line),color:#212121")
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// The graph in the DOT language of Graphviz.
  package func dot() -> String {
    var lines = [
      "digraph \"\(DOTNotation.escape(title))\" {",
      "  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];",
    ]
    let groups = nodesOfGroups
    if !groups.isEmpty { lines.append("  compound=true;") }
    DOTNotation.add(self, to: &lines, groups: groups)
    return (lines + ["}"]).joined(separator: "\n") + "\n"
  }
}
