extension Workflow {
  /// Draws the tasks and their states as a Mermaid flow chart, which many Markdown viewers show.
  ///
  /// Conditions are hexagons; a subworkflow is a box around its tasks. The colour shows the state. An edge has the key of
  /// the prerequisite, if it has one.
  public func mermaid() -> String {
    var lines = ["flowchart TD"]
    Mermaid.add(GraphDescription(self), to: &lines)
    for state in AnyWorkflowTask.State.allCases {
      lines.append("  classDef \(state) fill:\(state.colors.fill),stroke:\(state.colors.line),color:#212121")
    }
    return lines.joined(separator: "\n") + "\n"
  }
}

private enum Mermaid: GraphNotation {
  static func groupBegin(_ node: GraphDescription.Node, title: String) -> (line: String, inside: [String]) {
    ("subgraph \(node.identifier)_group[\(quoted(title))]", [])
  }

  static var groupEnd: String { "end" }

  static func node(_ node: GraphDescription.Node) -> String {
    let text = quoted(node.name)
    let shape =
      switch node.kind {
      case .work: "[\(text)]"
      case .condition: "{{\(text)}}"
      case .group: "[[\(text)]]"
      }
    return "\(node.identifier)\(shape):::\(node.state)"
  }

  static func edge(_ edge: GraphDescription.Edge) -> String {
    let arrow = edge.label.map { "-->|\(quoted($0))|" } ?? "-->"
    return "\(edge.from) \(arrow) \(edge.to)"
  }

  /// There is no empty label.
  private static func quoted(_ name: String) -> String {
    "\"\(name.isEmpty ? " " : escape(name))\""
  }

  static func replacement(for character: Character) -> String? {
    switch character {
    case "\"": "#quot;"
    case "#": "#35;"
    case "&": "#amp;"
    case "<": "#lt;"
    case ">": "#gt;"
    case "`": "#96;"
    case "\\": "#92;"
    case _ where character.isNewline: "<br/>"
    default: nil
    }
  }
}
