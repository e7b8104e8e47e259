import CompositeOperations

/// Flow charts of Mermaid, which many Markdown viewers show.
enum MermaidNotation: GraphNotation {
  static func groupBegin(_ node: GraphDescription.Node, title: String) -> (line: String, inside: [String]) {
    ("subgraph \(node.identifier)[\(quoted(title))]", [])
  }

  static func groupEnd(_ node: GraphDescription.Node) -> [String] {
    ["end", "class \(node.identifier) \(node.state)"]
  }

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

  static func edge(_ edge: GraphDescription.Edge, _ groups: [String: String]) -> String {
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
    // Two of them begin a comment, and with a brace a directive.
    case "%": "#37;"
    case _ where character.isNewline: "<br/>"
    default: nil
    }
  }
}
