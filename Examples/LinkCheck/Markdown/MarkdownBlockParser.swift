/// Cuts a Markdown file into the blocks that matter for links: paragraphs, headings and raw HTML. Code is left out.
///
/// It follows the block structure of CommonMark with GitHub's footnotes: quotes and list items are containers around
/// the rest, line by line.
struct MarkdownBlockParser {
  private enum Container {
    case quote
    /// An item that begins with a blank line ends with the next one.
    case item(indent: Int, isEmpty: Bool)
  }

  private enum Leaf {
    case none
    case paragraph(Passage)
    case fence(mark: UInt8, count: Int)
    case html(HTMLBlockRule, Passage)
  }

  private(set) var blocks: [MarkdownBlock] = []
  private(set) var definitions = LinkDefinitions()
  private var containers: [Container] = []
  private var leaf = Leaf.none

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
      } else if let indent = line.takeItemMark(interruptsParagraph: isInParagraph) ?? footnoteIndent(&line) {
        open(.item(indent: indent, isEmpty: line.isBlank), &matched)
      } else {
        break
      }
    }
    addText(line, number: number, matched)
  }

  /// Takes the marks of the open containers off `line`, and returns how many of them it continues.
  private mutating func matchContainers(of line: inout MarkdownLine) -> Int {
    for (index, container) in containers.enumerated() {
      switch container {
      case .quote:
        guard line.takeQuoteMark() else { return index }
      case .item(let indent, let isEmpty):
        if line.isBlank {
          guard !isEmpty else { return index }
        } else {
          guard line.indent >= indent else { return index }
          containers[index] = .item(indent: indent, isEmpty: false)
        }
        line.drop(min(indent, line.indent))
      }
    }
    return containers.count
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
      leaf = .html(rule, Passage())
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
    case .html(let rule, var passage):
      guard !(rule.endsAtBlankLine && line.isBlank) else { return closeLeaf() }
      passage.append(line.rest, line: number)
      leaf = .html(rule, passage)
      if rule.ends(with: line) { closeLeaf() }
    case .none, .paragraph: break
    }
  }

  private mutating func addText(_ line: MarkdownLine, number: Int, _ matched: Int) {
    if line.isBlank {
      close(from: matched)
      closeLeaf()
    } else if case .paragraph(var passage) = leaf {
      // Also without the marks of its containers: a paragraph may go on lazily.
      passage.append(line.content, line: number)
      leaf = .paragraph(passage)
    } else {
      close(from: matched)
      if line.indent <= 3 { leaf = .paragraph(passage(line.content, number)) }
    }
  }

  /// A footnote's text is a container like a list item; its mark is `[^name]:`.
  private func footnoteIndent(_ line: inout MarkdownLine) -> Int? {
    let content = line.content
    guard content.starts(with: "[^".utf8), let end = content.firstIndex(of: .closeBracket),
      content.dropFirst(end - content.startIndex + 1).first == .colon,
      !content[..<end].contains(.space)
    else { return nil }
    line.drop(line.indent + end - content.startIndex + 2)
    return 4
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
    containers.append(container)
    matched = containers.count
  }

  /// Closes the containers from the one at `index` on, with the block in them.
  private mutating func close(from index: Int) {
    guard index < containers.count else { return }
    closeLeaf()
    containers.removeSubrange(index...)
  }

  private mutating func closeLeaf() {
    if case .html(_, let passage) = leaf { blocks.append(.html(passage)) }
    if let paragraph = takeParagraph() { blocks.append(.paragraph(paragraph)) }
    leaf = .none
  }

  /// The open paragraph without the definitions that it begins with; nil, and still open, when nothing else is left.
  private mutating func takeParagraph() -> Passage? {
    guard case .paragraph(let passage) = leaf else { return nil }
    let rest = definitions.take(from: passage)
    leaf = rest.isEmpty ? .paragraph(rest) : .none
    return rest.isEmpty ? nil : rest
  }
}
