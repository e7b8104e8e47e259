extension Workflow {
  /// Draws the tasks and their states as a Mermaid flow chart, which many Markdown viewers show.
  ///
  /// Conditions are hexagons; a subworkflow is a box around its tasks. The colour shows the state. An edge has the key of
  /// the prerequisite, if it has one.
  public func mermaid() -> String {
    var lines = ["flowchart TD"]
    Mermaid.add(GraphDescription(self), to: &lines, indent: "  ")
    for state in AnyWorkflowTask.State.allCases {
      lines.append("  classDef \(state) fill:\(state.colors.fill),stroke:\(state.colors.line),color:#212121")
    }
    return lines.joined(separator: "\n") + "\n"
  }
}

private enum Mermaid {
  static func add(_ graph: GraphDescription, to lines: inout [String], indent: String) {
    for node in graph.nodes {
      let text = "\"\(escape(node.name))\""
      let shape =
        switch node.kind {
        case .work: "[\(text)]"
        case .condition: "{{\(text)}}"
        case .group: "[[\(text)]]"
        }
      guard let contents = node.contents, !contents.nodes.isEmpty else {
        lines.append("\(indent)\(node.identifier)\(shape):::\(node.state)")
        continue
      }
      lines.append("\(indent)subgraph \(node.identifier)_group[\"\(escape(contents.title))\"]")
      lines.append("\(indent)  \(node.identifier)\(shape):::\(node.state)")
      add(contents, to: &lines, indent: indent + "  ")
      lines.append("\(indent)end")
    }
    for edge in graph.edges {
      let arrow = edge.label.map { "-->|\"\(escape($0))\"|" } ?? "-->"
      lines.append("\(indent)\(edge.from) \(arrow) \(edge.to)")
    }
  }

  /// Names are shown as they are, whatever is in them: no markup, and no end of the quotation.
  static func escape(_ name: String) -> String {
    var text = ""
    for character in name {
      switch character {
      case "\"": text += "#quot;"
      case "#": text += "#35;"
      case "&": text += "#amp;"
      case "<": text += "#lt;"
      case ">": text += "#gt;"
      case "`": text += "#96;"
      case "\\": text += "#92;"
      case _ where character.isNewline: text += "<br/>"
      case _ where character.isControl: text += " "
      default: text.append(character)
      }
    }
    return text.isEmpty ? " " : text
  }
}
