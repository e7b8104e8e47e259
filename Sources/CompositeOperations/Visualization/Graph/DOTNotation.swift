/// The language of Graphviz.
enum DOTNotation: GraphNotation {
  static func groupBegin(_ node: GraphDescription.Node, title: String) -> (line: String, inside: [String]) {
    ("subgraph cluster_\(node.identifier) {", ["label=\"\(escape(title))\";"])
  }

  static var groupEnd: String { "}" }

  static func node(_ node: GraphDescription.Node) -> String {
    let shape =
      switch node.kind {
      case .work: ""
      case .condition: ", shape=hexagon, style=filled"
      case .group: ", peripheries=2"
      }
    let (fill, line) = node.state.colors
    return "\(node.identifier) [label=\"\(escape(node.name))\", tooltip=\"\(node.state)\", "
      + "fillcolor=\"\(fill)\", color=\"\(line)\"\(shape)];"
  }

  static func edge(_ edge: GraphDescription.Edge) -> String {
    let label = edge.label.map { " [label=\"\(escape($0))\"]" } ?? ""
    return "\(edge.from) -> \(edge.to)\(label);"
  }

  static func replacement(for character: Character) -> String? {
    switch character {
    case "\"": "\\\""
    case "\\": "\\\\"
    // Graphviz replaces entities in labels.
    case "&": "&amp;"
    case _ where character.isNewline: "\\n"
    default: nil
    }
  }
}
