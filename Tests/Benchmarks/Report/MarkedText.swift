/// A document that a program writes in part, and people write otherwise.
///
/// A part stands between the lines `<!-- benchmarks: NAME -->` and `<!-- /benchmarks -->`.
struct MarkedText: Sendable {
  private static let start = "<!-- benchmarks: "
  private static let end = "<!-- /benchmarks -->"

  /// The document's name, for errors.
  let name: String
  /// The text with its markers.
  let text: String

  /// The text with what `part` returns for the name of each part, and these names.
  func filled(_ part: (String) throws -> String) throws -> (text: String, names: [String]) {
    var lines: [Substring] = []
    var names: [String] = []
    var isInside = false
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line == Self.end {
        guard isInside else { throw BenchmarkError("\(name) has an end marker without a start") }
        isInside = false
      } else if line.hasPrefix(Self.start), line.hasSuffix(" -->") {
        guard !isInside else { throw BenchmarkError("\(name) has no end marker after '\(names.last ?? "")'") }
        isInside = true
        names.append(String(line.dropFirst(Self.start.count).dropLast(" -->".count)))
        lines += [line, "", Substring(try part(names[names.count - 1])), ""]
      } else if isInside {
        continue
      }
      if !isInside { lines.append(line) }
    }
    guard !isInside else { throw BenchmarkError("\(name) has no end marker after '\(names.last ?? "")'") }
    return (lines.joined(separator: "\n"), names)
  }
}
