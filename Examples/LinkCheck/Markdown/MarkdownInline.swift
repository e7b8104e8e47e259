/// Reads the inline markup of one block: its links, raw HTML, and the text that it shows.
struct MarkdownInline {
  struct Link: Equatable {
    let destination: String
    let offset: Int
  }

  private(set) var links: [Link] = []
  private(set) var anchors: [String] = []
  /// Labels that a link refers to and nothing defines.
  private(set) var undefined: [(label: String, offset: Int)] = []
  private(set) var text = HeadingText()

  private struct Bracket {
    let isImage: Bool
    /// Where the text between the brackets begins.
    let start: Int
    let textMark: HeadingText.Mark
    /// Links hold no links: the outer brackets of a link are just characters.
    var isActive = true
  }

  private let bytes: [UInt8]
  private let definitions: LinkDefinitions
  private var index = 0
  private var brackets: [Bracket] = []
  private var bare: [BareAddress] = []
  private var linkTexts: [Range<Int>] = []

  init(_ bytes: [UInt8], definitions: LinkDefinitions) {
    self.bytes = bytes
    self.definitions = definitions
    scan()
    // An address inside of a link's text or an image's is only text.
    let ranges = linkTexts
    for address in bare where !ranges.contains(where: { $0.contains(address.offset) }) {
      links.append(Link(destination: address.destination, offset: address.offset))
    }
    links.sort { $0.offset < $1.offset }
  }

  private mutating func scan() {
    while index < bytes.count {
      switch bytes[index] {
      case .backslash where index + 1 < bytes.count && bytes[index + 1].isPunctuation:
        text.append(bytes[index + 1])
        index += 2
      case .backtick: scanCode()
      case .less: scanAngle()
      case .exclamation where index + 1 < bytes.count && bytes[index + 1] == .openBracket:
        brackets.append(Bracket(isImage: true, start: index + 2, textMark: text.mark))
        index += 2
      case .openBracket:
        brackets.append(Bracket(isImage: false, start: index + 1, textMark: text.mark))
        index += 1
      case .closeBracket: closeBracket()
      case .ampersand:
        if let (entity, end) = HTMLEntity.decoded(in: bytes[...], at: index) {
          for byte in entity.utf8 { text.append(byte) }
          index = end
        } else {
          appendCharacter()
        }
      case .underscore: scanUnderscores()
      default:
        if let address = BareAddress(in: bytes, at: index) {
          bare.append(address)
          bytes[index..<address.end].forEach { text.append($0) }
          index = address.end
        } else {
          appendCharacter()
        }
      }
    }
  }

  private mutating func appendCharacter() {
    text.append(bytes[index])
    index += 1
  }

  /// A code span: what stands between two equally long runs of backticks. A run without a partner is text.
  private mutating func scanCode() {
    let run = bytes[index...].prefix { $0 == .backtick }
    var search = run.endIndex
    while let start = bytes[search...].firstIndex(of: .backtick) {
      let closing = bytes[start...].prefix { $0 == .backtick }
      if closing.count == run.count {
        for byte in bytes[run.endIndex..<start] { text.append(byte == .newline ? .space : byte) }
        index = closing.endIndex
        return
      }
      search = closing.endIndex
    }
    index = run.endIndex
  }

  /// An address in angle brackets, a piece of raw HTML, or just a character.
  private mutating func scanAngle() {
    if let (destination, shown, end) = AngleAddress.address(in: bytes, at: index) {
      links.append(Link(destination: destination, offset: index))
      linkTexts.append(index..<end)
      for byte in shown { text.append(byte) }
      index = end
      return
    }
    switch HTMLToken.next(in: bytes, at: index, isStrict: true) {
    case .other(let end)?: index = end
    case .tag(let tag, let end)?:
      for event in HTMLScanner.events(of: tag) {
        switch event {
        case .link(let destination, let offset): links.append(Link(destination: destination, offset: offset))
        case .anchor(let name): anchors.append(name)
        case .heading, .base, .forward: break
        }
      }
      index = end
    case nil: appendCharacter()
    }
  }

  private mutating func scanUnderscores() {
    let run = bytes[index...].prefix { $0 == .underscore }
    let before = index > 0 ? bytes[index - 1] : .space
    let after = run.endIndex < bytes.count ? bytes[run.endIndex] : .space
    text.appendUnderscores(run.count, before: before, after: after)
    index = run.endIndex
  }

  private mutating func closeBracket() {
    let close = index
    index += 1
    guard let bracket = brackets.popLast() else { return text.append(.closeBracket) }
    guard bracket.isActive else { return }
    if let (destination, offset, end) = LinkSyntax.inlineTail(in: bytes, at: index) {
      links.append(Link(destination: destination, offset: offset))
      finish(bracket, close: close, end: end)
    } else if let end = referenceEnd(of: bracket, close: close) {
      finish(bracket, close: close, end: end)
    }
  }

  /// Where a link ends whose destination a definition has, when the brackets are such a link.
  private mutating func referenceEnd(of bracket: Bracket, close: Int) -> Int? {
    let ownLabel = LinkSyntax.normalized(bytes[bracket.start..<close])
    guard let (label, end) = LinkSyntax.label(in: bytes, at: close + 1) else {
      return definitions.contains(ownLabel) ? close + 1 : nil
    }
    let wanted = label.isEmpty ? ownLabel : label
    if definitions.contains(wanted) { return end }
    // `a[0][1]` and the like are no links that lack a definition.
    let open = bracket.start - (bracket.isImage ? 2 : 1)
    let isPrecededByText = open > 0 && (bytes[open - 1].isLetterOrDigit || bytes[open - 1] == .closeBracket)
    let isFollowed = end < bytes.count && (bytes[end] == .openBracket || bytes[end] == .openParenthesis)
    if !isPrecededByText, !isFollowed, !wanted.isEmpty, !wanted.hasPrefix("^"), !ownLabel.isEmpty {
      undefined.append((wanted, open))
    }
    return nil
  }

  private mutating func finish(_ bracket: Bracket, close: Int, end: Int) {
    linkTexts.append(bracket.start..<end)
    index = end
    if bracket.isImage {
      text.cut(to: bracket.textMark)
    } else {
      for other in brackets.indices where !brackets[other].isImage { brackets[other].isActive = false }
    }
  }
}
