import TestSupport
import Testing

@testable import LinkCheck

/// Texts that a reader gets lost in that goes back, looks ahead, or copies for each of their parts:
/// these tests are about their end, and about the work until then. Every text has a link or two
/// behind everything else, to see that it was read.
@Suite(.timeLimit(.minutes(30))) struct LongTextTests {
  /// Texts of one kind, of any length.
  struct Case: Sendable, CustomTestStringConvertible {
    let name: String
    /// How many of its parts make a text that a reader would get lost in: in full, one whose end
    /// such a reader does not reach.
    let count: Int
    /// How many parts make a text that takes some milliseconds to read in a debug build.
    let measuredCount: Int
    private let linksInEach: Int?
    let text: @Sendable (_ count: Int) -> String

    /// - Parameter linksInEach: how many links each part has; nil when there is one link in all,
    ///   behind the parts.
    init(
      _ name: String, _ count: Int, measured: Int? = nil, linksInEach: Int? = nil,
      _ text: @escaping @Sendable (_ count: Int) -> String
    ) {
      self.name = name
      self.count = Scale.count(count, least: count / 10)
      measuredCount = measured ?? count / 10
      self.linksInEach = linksInEach
      self.text = text
    }

    var links: Int { linksInEach.map { $0 * count } ?? 1 }

    var testDescription: String { name }
  }

  static let blocks: [Case] = [
    Case("paragraphs that go on lazily", 1_000) { times($0, "> a\n" + times(300, "b\n")) + "[a](a.md)" },
    Case("a paragraph that goes on lazily", 300_000) { "> a\n" + times($0, "b\n") + "[a](a.md)" },
    Case("metadata without an end", 300_000) { "---\n" + times($0, "a\n") + "[a](a.md)" },
    Case("a table", 150_000) { "a|b\n-|-\n" + times($0, "|c|d|\n") + "|[a](a.md)|" },
    Case("raw HTML of many lines", 200_000) { times($0, "<div>\n") + "<a href=a.md>" },
    Case("definitions", 100_000, linksInEach: 1) { count in
      each(0..<count) { "[r\($0)]: a.md" } + "\n\n" + each(0..<count) { "[r\($0)]" }
    },
    Case("items in one line", 60_000) { times($0, "- ") + "[a](a.md)" },
    Case("numbered items in one line", 60_000) { times($0, "1. ") + "[a](a.md)" },
    Case("items with tabs in one line", 60_000) { times($0, "-\t") + "[a](a.md)" },
    Case("items of two kinds in one line", 30_000) { times($0, "- * ") + "[a](a.md)" },
    Case("footnotes in one line", 120_000) { times($0, "[^a]: ") + "[a](a.md)" },
    Case("footnotes and items in one line", 60_000) { times($0, "[^a]: - ") + "[a](a.md)" },
    Case("items one below the other", 2_000, measured: 1_000, linksInEach: 1) { count in
      each(0..<count) { times($0, " ") + "- [a](a.md)" }
    },
    Case("items around blank lines", 60_000) { times($0, "- ") + "x\n" + times($0, "\n") + "[a](a.md)" },
    Case("items around a blank line", 60_000) { times($0, "- ") + "x\n" + times(2 * $0, " ") + "\n[a](a.md)" },
    Case("items around lines that go on lazily", 60_000) { times($0, "- ") + "x\n" + times($0, "y\n") + "[a](a.md)" },
    Case("quotes and items around blank lines", 30_000) {
      times($0, "- > ") + "x\n" + times(2 * $0, "\n") + "[a](a.md)"
    },
  ]

  static let inlines: [Case] = [
    Case("brackets", 60_000) { times($0, "[") + times($0, "]") + " [a](a.md)" },
    Case("brackets before labels", 30_000) { times($0, "[") + times($0, "][]") + " [a](a.md)" },
    Case("links without an end", 30_000) { times($0, "[a](") + "a.md)" },
    Case("destinations with parentheses", 30_000) { times($0, "[a](()") + " [a](a.md)" },
    Case("links in many brackets", 60_000, linksInEach: 1) { times($0, "[") + times($0, "[a](a.md) ") },
    Case("links in many images", 60_000, linksInEach: 1) { times($0, "![") + times($0, "[a](a.md) ") },
    Case("links beside bare addresses", 60_000, linksInEach: 2) { times($0, "[a](a.md) http://a.org ") },
    Case("runs of backticks", 2_000, measured: 1_000) { each(1..<$0, " ") { times($0, "`") } + " [a](a.md)" },
    Case("comments without an end", 60_000) { "a " + times($0, "<!--") + " [a](a.md)" },
    Case("instructions without an end", 60_000) { "a " + times($0, "<?") + " [a](a.md)" },
    Case("character sections without an end", 30_000) { "a " + times($0, "<![CDATA[") + " [a](a.md)" },
    Case("declarations without an end", 60_000) { "a " + times($0, "<!A ") + " [a](a.md)" },
    Case("bare addresses without a host", 60_000) { times($0, "http://!") + " [a](a.md)" },
    Case("parentheses behind a bare address", 120_000) { "http://a.org" + times($0, ")") },
  ]

  static let tags: [Case] = [
    Case("character sections without an end", 60_000) { times($0, "<![CDATA[") + "<a href=a.md>" },
    Case("instructions without an end", 60_000) { times($0, "<?") + "<a href=a.md>" },
    Case("tags without an end", 60_000) { "<a href=a.md>" + times($0, "<a") },
    Case("tags before a value without an end", 60_000) { "<a href=a.md>" + times($0, "<a") + " b=\">" },
    Case("declarations without an end", 60_000) { "<a href=a.md>" + times($0, "<!") },
  ]

  @Test(arguments: blocks + inlines)
  func markdown_isReadToItsEnd(_ test: Case) {
    let page = markdown(test.text(test.count))
    #expect(page.links.count == test.links)
    #expect(page.links.allSatisfy { ["a.md", "http://a.org"].contains($0.destination) })
    #expect(page.problems.isEmpty)
  }

  @Test(arguments: tags)
  func html_isReadToItsEnd(_ test: Case) {
    #expect(html(test.text(test.count)).destinations == ["a.md"])
  }

  @Test(arguments: blocks + inlines)
  func markdown_ofManyTimesTheLength_takesAsManyTimesTheWork(_ test: Case) {
    expectLinearWork(test) { _ = markdown($0) }
  }

  @Test(arguments: tags)
  func html_ofManyTimesTheLength_takesAsManyTimesTheWork(_ test: Case) {
    expectLinearWork(test) { _ = html($0) }
  }

  /// Four times as many parts may take eight times the work: linear work is four times as much,
  /// quadratic work sixteen times.
  ///
  /// That is twice the work for each byte. Where each part is longer than the one before, the text
  /// is sixteen times as long; a reader that looks through all of it for each part takes four times
  /// the work for each byte there, too.
  private func expectLinearWork(_ test: Case, _ read: (String) -> Void) {
    let (short, long) = (test.text(test.measuredCount / 4), test.text(test.measuredCount))
    let growth = Growth.ofTimePerByte(from: short, to: long, below: 2, read)
    #expect(growth < 2)
  }

  @Test func brackets_aroundAPairOfBrackets_areNoLabel() {
    let page = markdown("[[a]] [[a]][] [b [a]][] [[a]](c.md)")
    #expect(page.destinations == ["c.md"])
    #expect(page.problems.isEmpty)
  }

  @Test func destination_withParenthesesNestedDeeperThanCMarkAllows_isNone() {
    func link(_ depth: Int) -> String { "[a](" + times(depth, "(") + times(depth, ")") + ")" }
    #expect(markdown(link(32)).links.count == 1)
    #expect(markdown(link(33)).links.isEmpty)
  }
}

private func times(_ count: Int, _ text: String) -> String {
  String(repeating: text, count: count)
}

private func each(_ range: Range<Int>, _ separator: String = "\n", _ text: (Int) -> String) -> String {
  range.map(text).joined(separator: separator)
}
