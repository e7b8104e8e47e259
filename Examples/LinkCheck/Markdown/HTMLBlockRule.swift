/// Where a block of raw HTML begins and ends in Markdown: seven ways, each with its own end.
enum HTMLBlockRule {
  /// `<script>`, `<pre>`, `<style>` and `<textarea>`, to one of their end tags.
  case verbatim
  /// A comment, an instruction, a declaration or a character section, to their closing mark.
  case mark(end: StaticString)
  /// A tag of a block, to the next blank line.
  case block
  /// Any other complete tag that has a line of its own, to the next blank line.
  case loneTag

  /// The rule by which `line` begins a block of HTML.
  init?(beginning line: MarkdownLine, interruptsParagraph: Bool) {
    guard line.indent <= 3, line.content.first == .less else { return nil }
    let bytes = Array(line.content)
    if bytes.has("<!--", at: 0) {
      self = .mark(end: "-->")
    } else if bytes.has("<?", at: 0) {
      self = .mark(end: "?>")
    } else if bytes.has("<![cdata[", at: 0) {
      self = .mark(end: "]]>")
    } else if bytes.count > 2, bytes[1] == .exclamation, bytes[2].isLetter {
      self = .mark(end: ">")
    } else if let rule = Self(tagIn: bytes, interruptsParagraph: interruptsParagraph) {
      self = rule
    } else {
      return nil
    }
  }

  private init?(tagIn bytes: [UInt8], interruptsParagraph: Bool) {
    let isClosing = bytes.count > 1 && bytes[1] == .slash
    let name = bytes.dropFirst(isClosing ? 2 : 1).prefix { $0.isLetterOrDigit }
    let after = bytes.dropFirst((isClosing ? 2 : 1) + name.count)
    let ends = after.first.map { $0.isWhitespace || $0 == .greater } ?? true
    let element = name.text.lowercased()
    if !isClosing, ends, ["script", "pre", "style", "textarea"].contains(element) {
      self = .verbatim
    } else if ends || after.starts(with: "/>".utf8), Self.blockElements.contains(element) {
      self = .block
    } else if !interruptsParagraph, case .tag(_, let end)? = Self.token(beginning: bytes),
      bytes[end...].allSatisfy(\.isWhitespace)
    {
      self = .loneTag
    } else {
      return nil
    }
  }

  private static func token(beginning bytes: [UInt8]) -> HTMLToken? {
    var tokens = HTMLTokens(bytes, isStrict: true)
    return tokens.token(at: 0)
  }

  var endsAtBlankLine: Bool {
    switch self {
    case .block, .loneTag: true
    case .verbatim, .mark: false
    }
  }

  /// Whether the block ends with `line`, which still belongs to it.
  func ends(with line: MarkdownLine) -> Bool {
    let marks: [StaticString] =
      switch self {
      case .block, .loneTag: []
      case .mark(let end): [end]
      case .verbatim: ["</script>", "</pre>", "</style>", "</textarea>"]
      }
    return marks.contains { line.content.firstIndex(of: $0, from: line.content.startIndex) != nil }
  }

  private static let blockElements: Set<String> = [
    "address", "article", "aside", "base", "basefont", "blockquote", "body", "caption", "center", "col", "colgroup",
    "dd", "details", "dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "frame",
    "frameset", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "hr", "html", "iframe", "legend", "li", "link",
    "main", "menu", "menuitem", "nav", "noframes", "ol", "optgroup", "option", "p", "param", "search", "section",
    "summary", "table", "tbody", "td", "tfoot", "th", "thead", "title", "tr", "track", "ul",
  ]
}
