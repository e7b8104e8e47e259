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
    /// Whether a bracket was opened in there. The label of a definition has none.
    var holdsBracket = false
  }

  private let bytes: [UInt8]
  private let definitions: LinkDefinitions
  private var index = 0
  private var html: HTMLTokens
  private var backticks: BacktickRuns
  private var brackets: [Bracket] = []
  /// How many of the brackets are around a link. Links hold no links: those of them that are no
  /// image's are just characters.
  private var bracketsAroundLink = 0
  private var bare: [BareAddress] = []

  init(_ bytes: [UInt8], definitions: LinkDefinitions) {
    self.bytes = bytes
    self.definitions = definitions
    html = HTMLTokens(bytes, isStrict: true)
    backticks = BacktickRuns(in: bytes)
    scan()
    links += bare.map { Link(destination: $0.destination, offset: $0.offset) }
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
        openBracket(isImage: true)
      case .openBracket: openBracket(isImage: false)
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

  /// A code span: what stands between two equally long runs of backticks. A run without a partner
  /// is text.
  private mutating func scanCode() {
    let run = bytes[index...].prefix { $0 == .backtick }
    index = run.endIndex
    guard let close = backticks.first(of: run.count, from: index) else { return }
    for byte in bytes[index..<close] { text.append(byte == .newline ? .space : byte) }
    index = close + run.count
  }

  /// An address in angle brackets, a piece of raw HTML, or just a character.
  private mutating func scanAngle() {
    if let (destination, shown, end) = AngleAddress.address(in: bytes, at: index) {
      links.append(Link(destination: destination, offset: index))
      for byte in shown { text.append(byte) }
      index = end
      return
    }
    switch html.token(at: index) {
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

  private mutating func openBracket(isImage: Bool) {
    if let last = brackets.indices.last { brackets[last].holdsBracket = true }
    index += isImage ? 2 : 1
    brackets.append(Bracket(isImage: isImage, start: index, textMark: text.mark))
  }

  private mutating func closeBracket() {
    let close = index
    index += 1
    guard let bracket = brackets.popLast() else { return text.append(.closeBracket) }
    let isAroundLink = brackets.count < bracketsAroundLink
    bracketsAroundLink = min(bracketsAroundLink, brackets.count)
    guard bracket.isImage || !isAroundLink else { return }
    if let (destination, offset, end) = LinkSyntax.inlineTail(in: bytes, at: index) {
      links.append(Link(destination: destination, offset: offset))
      finish(bracket, close: close, end: end)
    } else if let end = referenceEnd(of: bracket, close: close) {
      finish(bracket, close: close, end: end)
    }
  }

  /// Where a link ends whose destination a definition has, when the brackets are such a link.
  private mutating func referenceEnd(of bracket: Bracket, close: Int) -> Int? {
    let ownLabel = bracket.holdsBracket ? nil : LinkSyntax.normalized(bytes[bracket.start..<close])
    guard let (label, end) = LinkSyntax.label(in: bytes, at: close + 1) else {
      return ownLabel.map(definitions.contains) == true ? close + 1 : nil
    }
    guard let wanted = label.isEmpty ? ownLabel : label else { return nil }
    if definitions.contains(wanted) { return end }
    // `a[0][1]` and the like are no links that lack a definition.
    let open = bracket.start - (bracket.isImage ? 2 : 1)
    let isPrecededByText = open > 0 && (bytes[open - 1].isLetterOrDigit || bytes[open - 1] == .closeBracket)
    let isFollowed = end < bytes.count && (bytes[end] == .openBracket || bytes[end] == .openParenthesis)
    if !isPrecededByText, !isFollowed, !wanted.isEmpty, !wanted.hasPrefix("^"), ownLabel?.isEmpty != true {
      undefined.append((wanted, open))
    }
    return nil
  }

  private mutating func finish(_ bracket: Bracket, close: Int, end: Int) {
    index = end
    // An address inside of a link's text or an image's is only text.
    while let address = bare.last, address.offset >= bracket.start { bare.removeLast() }
    if bracket.isImage {
      text.cut(to: bracket.textMark)
    } else {
      bracketsAroundLink = brackets.count
    }
  }
}
