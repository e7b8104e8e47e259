/// A language that graphs are written in.
protocol GraphNotation {
  /// How the group begins in which a node stands that has others inside of it: a line, and lines inside of the group.
  static func groupBegin(_ node: GraphDescription.Node, title: String) -> (line: String, inside: [String])
  static var groupEnd: String { get }
  static func node(_ node: GraphDescription.Node) -> String
  static func edge(_ edge: GraphDescription.Edge) -> String
  /// What stands for a character that is not written as it is, otherwise nil.
  static func replacement(for character: Character) -> String?
}

extension GraphNotation {
  static func add(_ graph: GraphDescription, to lines: inout [String], indent: String = "  ") {
    for node in graph.nodes {
      guard let contents = node.contents, !contents.nodes.isEmpty else {
        lines.append(indent + self.node(node))
        continue
      }
      let inner = indent + "  "
      let begin = groupBegin(node, title: contents.title)
      lines.append(indent + begin.line)
      lines += (begin.inside + [self.node(node)]).map { inner + $0 }
      add(contents, to: &lines, indent: inner)
      lines.append(indent + groupEnd)
    }
    for edge in graph.edges { lines.append(indent + self.edge(edge)) }
  }

  /// A name as it is, whatever is in it: no markup, and no end of the quotation.
  static func escape(_ name: String) -> String {
    var text = ""
    for character in name {
      // A NUL, for one, would be the end of the file for Graphviz.
      let isControl = character.unicodeScalars.first?.properties.generalCategory == .control
      text += replacement(for: character) ?? (isControl ? " " : String(character))
    }
    return text
  }
}
