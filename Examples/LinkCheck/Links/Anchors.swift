/// Makes the anchors of headings the way GitHub does.
struct Anchors {
  /// Every name in the page that a link can point at.
  private(set) var names: Set<String> = []
  private var counts: [String: Int] = [:]

  /// Adds the anchor of a heading. The second of two equal ones gets `-1` at its end, the next one
  /// `-2`.
  mutating func addHeading(_ text: String) {
    let slug = Self.slug(text)
    var name = slug
    while counts[name] != nil {
      counts[slug, default: 0] += 1
      name = "\(slug)-\(counts[slug, default: 0])"
    }
    counts[name] = 0
    names.insert(name)
  }

  /// Adds a name that the page gives explicitly.
  mutating func addName(_ name: String) {
    names.insert(name)
  }

  /// A heading's text in lower case, without punctuation, with dashes for spaces.
  static func slug(_ text: String) -> String {
    var slug = String.UnicodeScalarView()
    for scalar in text.lowercased().unicodeScalars {
      switch scalar {
      case " ": slug.append("-")
      case _ where scalar == "-" || isWord(scalar): slug.append(scalar)
      default: break
      }
    }
    return String(slug)
  }

  private static func isWord(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .nonspacingMark,
      .spacingMark, .enclosingMark, .decimalNumber, .letterNumber, .connectorPunctuation:
      true
    default: false
    }
  }
}
