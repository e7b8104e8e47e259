import CompositeOperations

/// A language that graphs are written in.
protocol GraphNotation {
  /// How the group begins in which a node stands that has others inside of it: a line, and lines inside of the group.
  static func groupBegin(_ node: GraphDescription.Node, title: String) -> (line: String, inside: [String])
  static func groupEnd(_ node: GraphDescription.Node) -> [String]
  static func node(_ node: GraphDescription.Node) -> String
  /// - Parameter groups: one node in each group, by the identifier of the group.
  static func edge(_ edge: GraphDescription.Edge, _ groups: [String: String]) -> String
  /// What stands for a character that is not written as it is, otherwise nil.
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

  /// The title of a group: what it is called, and what it is.
  private static func title(_ name: String, _ kind: String) -> String {
    if name.isEmpty || name == kind { return kind }
    return kind.isEmpty ? name : "\(name) · \(kind)"
  }

  /// A name as it is, whatever is in it: no markup, and no end of the quotation.
  static func escape(_ name: String) -> String {
    var text = ""
    for character in name {
      // A NUL, for one, would be the end of the file for Graphviz.
      text += replacement(for: character) ?? HarmlessText.line(String(character))
    }
    return text
  }
}
