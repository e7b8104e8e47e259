/// Cuts a Markdown file into the blocks that matter for links: paragraphs, headings and raw HTML.
/// Code is left out.
///
/// It follows the block structure of CommonMark with GitHub's footnotes: quotes and list items are
/// containers around the rest, line by line.
struct MarkdownBlockParser {
  private enum Container {
    case quote
    case item(indent: Int)
  }

  private enum Leaf {
    case none
    case paragraph
    case fence(mark: UInt8, count: Int)
    case html(HTMLBlockRule)
  }

  private(set) var blocks: [MarkdownBlock] = []
  private(set) var definitions = LinkDefinitions()
  private var containers: [Container] = []
  /// Where quotes stand among the containers.
  private var quotes: [Int] = []
  /// Whether the innermost container is an item that began with a blank line, the last one so far.
  /// It ends with the next one.
  private var hasEmptyItem = false
  private var leaf = Leaf.none
  /// The lines of the open paragraph or HTML.
  private var lines = Passage()

  init(_ bytes: [UInt8]) {
    let hasMark = bytes.starts(with: [0xEF, 0xBB, 0xBF])
    let lines = bytes.dropFirst(hasMark ? 3 : 0).split(separator: .newline, omittingEmptySubsequences: false)
      .map { $0.last == 0x0D ? $0.dropLast() : $0 }
    let metadata = Self.metadataLines(in: lines)
    for (index, line) in lines.enumerated().dropFirst(metadata) {
      add(MarkdownLine(line), number: index + 1)
    }
    closeLeaf()
  }

  /// How many lines the metadata takes that some files begin with, between two lines `---`.
  private static func metadataLines(in lines: [ArraySlice<UInt8>]) -> Int {
    guard lines.first?.text == "---" else { return 0 }
    let end = lines.dropFirst().firstIndex { $0.text == "---" || $0.text == "..." }
    return end.map { $0 + 1 } ?? 0
  }

  private mutating func add(_ original: MarkdownLine, number: Int) {
    var line = original
    var matched = matchContainers(of: &line)
    switch leaf {
    case .fence, .html:
      if matched == containers.count { return addVerbatim(line, number: number) }
      close(from: matched)
    case .none, .paragraph: break
    }
    while !line.isBlank, line.indent <= 3 {
      let isInParagraph = matched == containers.count && isParagraph
      if line.takeQuoteMark() {
        open(.quote, &matched)
      } else if beginsLeaf(line, number: number, isInParagraph: isInParagraph, matched) {
        return
      } else if let indent = line.takeItemMark(interruptsParagraph: isInParagraph) {
        open(.item(indent: indent), &matched)
        hasEmptyItem = line.isBlank
      } else if line.takeFootnoteMark() {
        // The text of a footnote is a container like a list item.
        open(.item(indent: 4), &matched)
        hasEmptyItem = line.isBlank
      } else {
        break
      }
    }
    addText(line, number: number, matched)
  }

  /// Takes the marks of the open containers off `line`, and returns how many of them it continues.
  private mutating func matchContainers(of line: inout MarkdownLine) -> Int {
    defer { hasEmptyItem = false }
    var passedQuotes = 0
    for (index, container) in containers.enumerated() {
      if line.isBlank { return matchBlankLine(after: passedQuotes) }
      switch container {
      case .quote:
        guard line.takeQuoteMark() else { return index }
        passedQuotes += 1
      case .item(let indent):
        guard line.indent >= indent else { return index }
        line.dropIndent(indent)
      }
    }
    return containers.count
  }

  /// How many containers a line continues that is blank behind the marks of some quotes: all up to
  /// the next quote, but not an empty item. The items are not asked one by one: there may be as
  /// many of them as there are blank lines.
  private func matchBlankLine(after passedQuotes: Int) -> Int {
    if passedQuotes < quotes.count { return quotes[passedQuotes] }
    return containers.count - (hasEmptyItem ? 1 : 0)
  }

  /// Whether `line` is, or begins, a block of its own kind; if so it was added.
  ///
  /// - Parameter isInParagraph: Whether the line has all the marks of an open paragraph.
  private mutating func beginsLeaf(
    _ line: MarkdownLine, number: Int, isInParagraph: Bool, _ matched: Int
  ) -> Bool {
    if let text = line.headingText {
      close(from: matched)
      closeLeaf()
      blocks.append(.heading(passage(text, number)))
    } else if let (mark, count) = line.openingFence {
      close(from: matched)
      closeLeaf()
      leaf = .fence(mark: mark, count: count)
    } else if let rule = HTMLBlockRule(beginning: line, interruptsParagraph: isParagraph) {
      close(from: matched)
      closeLeaf()
      leaf = .html(rule)
      addVerbatim(line, number: number)
    } else if isInParagraph, line.isSetextUnderline, let heading = takeParagraph() {
      blocks.append(.heading(heading))
    } else if line.isThematicBreak {
      close(from: matched)
      closeLeaf()
    } else {
      return false
    }
    return true
  }

  private mutating func addVerbatim(_ line: MarkdownLine, number: Int) {
    switch leaf {
    case .fence(let mark, let count):
      if line.closesFence(mark, count) { leaf = .none }
    case .html(let rule):
      guard !(rule.endsAtBlankLine && line.isBlank) else { return closeLeaf() }
      lines.append(line.content, indent: line.indent, line: number)
      if rule.ends(with: line) { closeLeaf() }
    case .none, .paragraph: break
    }
  }

  private mutating func addText(_ line: MarkdownLine, number: Int, _ matched: Int) {
    if line.isBlank {
      close(from: matched)
      closeLeaf()
    } else if isParagraph {
      // Also without the marks of its containers: a paragraph may go on lazily.
      lines.append(line.content, line: number)
    } else {
      close(from: matched)
      guard line.indent <= 3 else { return }
      leaf = .paragraph
      lines.append(line.content, line: number)
    }
  }

  private var isParagraph: Bool {
    if case .paragraph = leaf { true } else { false }
  }

  private func passage(_ bytes: ArraySlice<UInt8>, _ number: Int) -> Passage {
    var passage = Passage()
    passage.append(bytes, line: number)
    return passage
  }

  private mutating func open(_ container: Container, _ matched: inout Int) {
    close(from: matched)
    closeLeaf()
    if case .quote = container { quotes.append(containers.count) }
    containers.append(container)
    matched = containers.count
  }

  /// Closes the containers from the one at `index` on, with the block in them.
  private mutating func close(from index: Int) {
    guard index < containers.count else { return }
    closeLeaf()
    containers.removeSubrange(index...)
    while let last = quotes.last, last >= index { quotes.removeLast() }
  }

  private mutating func closeLeaf() {
    if case .html = leaf { blocks.append(.html(lines.take())) }
    if let paragraph = takeParagraph() { blocks.append(.paragraph(paragraph)) }
    leaf = .none
  }

  /// The open paragraph without the definitions that it begins with; nil, and still open, when
  /// nothing else is left.
  private mutating func takeParagraph() -> Passage? {
    guard isParagraph else { return nil }
    let rest = definitions.take(from: lines.take())
    guard !rest.isEmpty else { return nil }
    leaf = .none
    return rest
  }
}
