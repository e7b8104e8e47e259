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
    "\"\(name.isEmpty ? " " : plain(name))\""
  }

  /// A name in which nothing is Markdown.
  ///
  /// Mermaid 11.0 to 11.9 reads every label as Markdown. It shows “Unsupported markdown: list” or
  /// “link” instead of a name that begins like a list or has an address, and leaves the signs of
  /// emphasis out. A word joiner, which has no width, keeps it from the former, and an escape from
  /// the latter.
  ///
  /// In a name of several lines, which has tags, it replaces what is escaped before it reads the
  /// Markdown. There a space without width after a sign keeps that from beginning anything. Two
  /// backticks still make code there: another character for them would be wrong in all versions.
  private static func plain(_ name: String) -> String {
    let lines = name.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map { line in
      (isLikeBlock(line) ? wordJoiner : "") + escapeUnderscores(escape(String(line)))
    }
    var text = lines.joined(separator: "<br/>")
    if lines.count > 1 {
      for sign in escapedSigns { text = text.replacing(sign, with: sign + spaceWithoutWidth) }
    }
    text = linkParts.reduce(text) { text, part in
      text.replacing(part.begin + part.end, with: part.begin + wordJoiner + part.end)
    }
    // After these words and a colon Mermaid takes an escape for a color, and leaves out its end.
    guard text.contains("#"), text.contains(":") else { return text }
    return text.replacing("style", with: "s\(wordJoiner)tyle").replacing("classDef", with: "class\(wordJoiner)Def")
  }

  private static let wordJoiner = "\u{2060}"
  /// The zero-width no-break space, which JavaScript takes for white space, unlike a word joiner.
  private static let spaceWithoutWidth = "\u{FEFF}"
  /// The signs of Markdown that mean something only before what is no white space: `*`, `\`, `_`
  /// and `~`.
  private static let escapedSigns = ["#42;", "#92;", "#95;", "#126;"]
  /// What makes a link of the text around it, or defines one, and where to part it.
  private static let linkParts: [(begin: String, end: String)] = [
    (":", "//"), ("www", "."), ("Www", "."), ("WWW", "."), ("", "@"), ("]", "("), ("]", ":"),
  ]

  /// Escapes the underscores that may begin an emphasis: those in and after words, which most names
  /// have, cannot, and stay.
  private static func escapeUnderscores(_ text: String) -> String {
    guard text.unicodeScalars.contains("_") else { return text }
    var result = String.UnicodeScalarView()
    var isAfterWord = false
    for scalar in text.unicodeScalars {
      if scalar == "_" {
        result.append(contentsOf: (isAfterWord ? "_" : "#95;").unicodeScalars)
      } else {
        result.append(scalar)
        isAfterWord = isLetterOrNumber(scalar)
      }
    }
    return String(result)
  }

  /// As the Markdown of Mermaid sees it: no vowel signs, and no characters of two UTF-16 units.
  private static func isLetterOrNumber(_ scalar: Unicode.Scalar) -> Bool {
    guard scalar.value < 0x10000 else { return false }
    switch scalar.properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber,
      .letterNumber, .otherNumber:
      return true
    default: return false
    }
  }

  /// Whether a line is in Markdown a heading, a quotation, a rule, code, or a part of a list.
  private static func isLikeBlock(_ line: Substring) -> Bool {
    let text = line.drop(while: \.isWhitespace)
    if line.hasPrefix("    ") { return true }
    let number = text.prefix { $0.isASCII && $0.isNumber }
    let rest = text.dropFirst(number.count)
    guard let mark = rest.first else { return false }
    let isAlone = rest.dropFirst().first?.isWhitespace ?? true
    switch mark {
    case ".", ")": return !number.isEmpty && isAlone
    case "#", ">": return number.isEmpty
    case "-", "+", "*", "_", "=", "`": return number.isEmpty && (isAlone || rest.dropFirst().first == mark)
    default: return false
    }
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
    case "*": "#42;"
    case "~": "#126;"
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
