import CompositeOperations

/// A language that graphs are written in.
protocol GraphNotation {
  /// The beginning of the group for a node with others inside: a line, and lines inside of the
  /// group.
  static func groupBegin(_ node: GraphDescription.Node, title: String) -> (line: String, inside: [String])
  static func groupEnd(_ node: GraphDescription.Node) -> [String]
  static func node(_ node: GraphDescription.Node) -> String
  /// - Parameter groups: one node in each group, by the identifier of the group.
  static func edge(_ edge: GraphDescription.Edge, _ groups: [String: String]) -> String
  /// The replacement of a character of one scalar that is not written as it is; nil for others.
  static func replacement(for character: Character) -> String?
}

extension GraphNotation {
  static func add(
    _ graph: GraphDescription, to lines: inout [String], groups: [String: String], indent: String = "  "
  ) {
    for node in graph.nodes {
      guard let contents = node.contents, !contents.nodes.isEmpty else {
        lines.append(indent + self.node(node))
        continue
      }
      let inner = indent + "  "
      let begin = groupBegin(node, title: title(node.name, contents.title))
      lines.append(indent + begin.line)
      lines += begin.inside.map { inner + $0 }
      add(contents, to: &lines, groups: groups, indent: inner)
      lines += groupEnd(node).map { indent + $0 }
    }
    for edge in graph.edges { lines.append(indent + self.edge(edge, groups)) }
  }

  /// The title of a group: its name and its kind.
  private static func title(_ name: String, _ kind: String) -> String {
    if name.isEmpty || name == kind { return kind }
    return kind.isEmpty ? name : "\(name) · \(kind)"
  }

  /// A name that is shown as it is: nothing in it is markup, or ends the quotation.
  static func escape(_ name: String) -> String {
    var text = ""
    var last: Unicode.Scalar?
    // A quotation mark and an accent are one character, but both languages see the mark.
    for scalar in name.unicodeScalars {
      defer { last = scalar }
      if last == "\r", scalar == "\n" { continue }
      let character = Character(scalar)
      // Graphviz would take a NUL for the end of the file.
      text += replacement(for: character) ?? HarmlessText.line(String(character))
    }
    return text
  }
}

/// The language of Mermaid's flow charts, which many Markdown viewers show.
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

  /// The name in quotation marks. Mermaid has no empty labels.
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
    // Two of them begin a comment, or with a brace a directive.
    case "%": "#37;"
    case _ where character.isNewline: "<br/>"
    default: nil
    }
  }
}

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

  /// An edge joins nodes. The edge of a group joins a node in it, and ends at its box.
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
