import Foundation

/// Reads HTML for what a link checker wants to know.
struct HTMLScanner {
  enum Event: Equatable {
    case link(destination: String, offset: Int)
    /// A name that links can point at.
    case anchor(String)
    /// The text of a heading.
    case heading(String)
    /// Where relative links start.
    case base(String)
    /// The reader is sent to the link before this at once.
    case forward
  }

  /// Everything found in `bytes`, in order. Comments, scripts and styles are skipped.
  static func events(in bytes: [UInt8]) -> [Event] {
    var scanner = HTMLScanner()
    scanner.scan(bytes)
    return scanner.events
  }

  /// What one tag has to say.
  static func events(of tag: HTMLTag) -> [Event] {
    var scanner = HTMLScanner()
    scanner.visit(tag)
    return scanner.events
  }

  private var events: [Event] = []
  private var heading: (name: String, text: [UInt8])?

  private mutating func scan(_ bytes: [UInt8]) {
    var tokens = HTMLTokens(bytes, isStrict: false)
    var index = 0
    var textStart = 0
    while let start = bytes[index...].firstIndex(of: .less) {
      guard let token = tokens.token(at: start) else {
        index = start + 1
        continue
      }
      heading?.text += bytes[textStart..<start]
      switch token {
      case .other(let end): index = end
      case .tag(let tag, let end):
        visit(tag)
        index = tag.isClosing ? end : Self.skipText(of: tag.name, in: bytes, from: end)
      }
      textStart = index
    }
    heading?.text += bytes[textStart...]
    endHeading()
  }

  /// Where to go on behind the start tag of `element`: at its end when what is in there is no HTML.
  private static func skipText(of element: String, in bytes: [UInt8], from index: Int) -> Int {
    switch element {
    case "script": bytes.firstIndex(of: "</script", from: index) ?? bytes.count
    case "style": bytes.firstIndex(of: "</style", from: index) ?? bytes.count
    case "textarea": bytes.firstIndex(of: "</textarea", from: index) ?? bytes.count
    case "title": bytes.firstIndex(of: "</title", from: index) ?? bytes.count
    default: index
    }
  }

  private mutating func visit(_ tag: HTMLTag) {
    if ["h1", "h2", "h3", "h4", "h5", "h6"].contains(tag.name) {
      endHeading()
      if !tag.isClosing { heading = (tag.name, []) }
    }
    guard !tag.isClosing else { return }
    if tag.name == "base" {
      if let base = tag["href"] { events.append(.base(base)) }
      return
    }
    if tag.name == "meta", tag["http-equiv"]?.lowercased() == "refresh" { addForward(tag) }
    let isHint = tag.name == "link" && Self.namesOriginOnly(tag["rel"] ?? "")
    for attribute in tag.attributes {
      switch attribute.name {
      case "id": addAnchor(attribute.value)
      case "name" where tag.name == "a": addAnchor(attribute.value)
      case "href", "xlink:href":
        // An empty one means the page itself.
        if !attribute.value.isEmpty, !isHint { add(attribute.value, attribute.offset) }
      case "src": add(attribute.value, attribute.offset)
      case "srcset", "imagesrcset": addCandidates(attribute)
      case "poster" where tag.name == "video": add(attribute.value, attribute.offset)
      case "data" where tag.name == "object": add(attribute.value, attribute.offset)
      default: break
      }
    }
  }

  /// Whether a `<link>` only tells the browser which servers to greet early: its address is no
  /// document's.
  private static func namesOriginOnly(_ relation: String) -> Bool {
    relation.lowercased().split(whereSeparator: \.isWhitespace).contains { $0 == "preconnect" || $0 == "dns-prefetch" }
  }

  /// `<meta http-equiv="refresh" content="0; url=other.html">`. Without an address the page only
  /// reloads itself.
  private mutating func addForward(_ tag: HTMLTag) {
    guard let content = tag.attributes.first(where: { $0.name == "content" }),
      let mark = content.value.lowercased().range(of: "url=")
    else { return }
    let address = content.value.lowercased()[mark.upperBound...]
    let quotes: Set<Character> = ["'", "\""]
    add(content.value.suffix(address.count).filter { !quotes.contains($0) }, content.offset)
    events.append(.forward)
  }

  private mutating func addAnchor(_ name: String) {
    if !name.isEmpty { events.append(.anchor(name)) }
  }

  private mutating func add(_ destination: String, _ offset: Int) {
    let words = destination.split(whereSeparator: \.isNewline).joined()
    events.append(.link(destination: words.trimmingASCIIWhitespace, offset: offset))
  }

  /// A `srcset`: addresses with commas between them, each with a width or density behind it.
  private mutating func addCandidates(_ attribute: HTMLTag.Attribute) {
    var rest = attribute.value[...]
    while true {
      rest = rest.drop { $0.isWhitespace || $0 == "," }
      guard !rest.isEmpty else { return }
      var address = rest.prefix { !$0.isWhitespace }
      rest = rest[address.endIndex...]
      // A comma in an address belongs to it; one behind it ends the candidate.
      if address.last == "," {
        while address.last == "," { address.removeLast() }
      } else {
        rest = rest.drop { $0 != "," }
      }
      add(String(address), attribute.offset)
    }
  }

  private mutating func endHeading() {
    guard let (_, text) = heading else { return }
    heading = nil
    events.append(.heading(HTMLEntity.decoding(text[...]).trimmingASCIIWhitespace))
  }
}

extension String {
  /// The text without spaces, tabs and line ends at both ends.
  var trimmingASCIIWhitespace: String {
    Array(utf8)[...].trimmed.text
  }
}
