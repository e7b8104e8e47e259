import CompositeOperations

/// The language of Graphviz.
enum DOTNotation: GraphNotation {
  static func groupBegin(_ node: GraphDescription.Node, title: String) -> (line: String, inside: [String]) {
    let (fill, line) = node.state.colors
    return (
      "subgraph cluster_\(node.identifier) {",
      [
        "label=\"\(escape(title))\"; tooltip=\"\(node.state)\"; style=\"rounded,filled\"; "
          + "fillcolor=\"\(fill)\"; color=\"\(line)\";"
      ]
    )
  }

  static func groupEnd(_ node: GraphDescription.Node) -> [String] { ["}"] }

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

  /// An edge joins nodes; that of a group joins one in it, and is cut off at its box.
  static func edge(_ edge: GraphDescription.Edge, _ groups: [String: String]) -> String {
    var attributes = edge.label.map { ["label=\"\(escape($0))\""] } ?? []
    let from = groups[edge.from], to = groups[edge.to]
    if from != nil { attributes.append("ltail=cluster_\(edge.from)") }
    if to != nil { attributes.append("lhead=cluster_\(edge.to)") }
    let list = attributes.isEmpty ? "" : " [\(attributes.joined(separator: ", "))]"
    return "\(from ?? edge.from) -> \(to ?? edge.to)\(list);"
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
