extension Workflow {
  /// Draws the tasks and their states in the DOT language of Graphviz.
  ///
  /// Conditions are hexagons; a subworkflow is a box around its tasks. The colour shows the state. An edge has the key of
  /// the prerequisite, if it has one.
  public func dot() -> String {
    var lines = [
      "digraph \"\(DOT.escape(name))\" {",
      "  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];",
    ]
    DOT.add(GraphDescription(self), to: &lines, indent: "  ")
    return (lines + ["}"]).joined(separator: "\n") + "\n"
  }
}

private enum DOT {
  static func add(_ graph: GraphDescription, to lines: inout [String], indent: String) {
    for node in graph.nodes {
      let shape =
        switch node.kind {
        case .work: ""
        case .condition: ", shape=hexagon, style=filled"
        case .group: ", peripheries=2"
        }
      let (fill, line) = node.state.colors
      let text =
        "\(node.identifier) [label=\"\(escape(node.name))\", tooltip=\"\(node.state)\", "
        + "fillcolor=\"\(fill)\", color=\"\(line)\"\(shape)];"
      guard let contents = node.contents, !contents.nodes.isEmpty else {
        lines.append(indent + text)
        continue
      }
      lines.append("\(indent)subgraph cluster_\(node.identifier) {")
      lines.append("\(indent)  label=\"\(escape(contents.title))\";")
      lines.append("\(indent)  \(text)")
      add(contents, to: &lines, indent: indent + "  ")
      lines.append("\(indent)}")
    }
    for edge in graph.edges {
      let label = edge.label.map { " [label=\"\(escape($0))\"]" } ?? ""
      lines.append("\(indent)\(edge.from) -> \(edge.to)\(label);")
    }
  }

  static func escape(_ name: String) -> String {
    var text = ""
    for character in name {
      switch character {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      // Graphviz replaces entities in labels.
      case "&": text += "&amp;"
      case _ where character.isNewline: text += "\\n"
      case _ where character.isControl: text += " "
      default: text.append(character)
      }
    }
    return text
  }
}
