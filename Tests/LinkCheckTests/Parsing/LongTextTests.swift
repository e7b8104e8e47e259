import Testing

@testable import LinkCheck

/// Texts that a reader gets lost in that goes back, looks ahead, or copies for each of their parts: these tests are about
/// their end. Every text has a link or two behind everything else, to see that it was read.
@Suite struct LongTextTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let name: String
    let text: String
    let links: Int

    init(_ name: String, links: Int = 1, _ text: String) {
      self.name = name
      self.text = text
      self.links = links
    }

    var testDescription: String { name }
  }

  private static func times(_ count: Int, _ text: String) -> String {
    String(repeating: text, count: count)
  }

  private static func each(_ range: Range<Int>, _ separator: String = "\n", _ text: (Int) -> String) -> String {
    range.map(text).joined(separator: separator)
  }

  static let blocks: [Case] = [
    Case("paragraphs that go on lazily", times(1_000, "> a\n" + times(300, "b\n")) + "[a](a.md)"),
    Case("metadata without an end", "---\n" + times(300_000, "a\n") + "[a](a.md)"),
    Case("a table", "a|b\n-|-\n" + times(150_000, "|c|d|\n") + "|[a](a.md)|"),
    Case("raw HTML of many lines", times(200_000, "<div>\n") + "<a href=a.md>"),
    Case(
      "definitions", links: 100_000, each(0..<100_000) { "[r\($0)]: a.md" } + "\n\n" + each(0..<100_000) { "[r\($0)]" }),
    Case("items in one line", times(60_000, "- ") + "[a](a.md)"),
    Case("numbered items in one line", times(60_000, "1. ") + "[a](a.md)"),
    Case("items with tabs in one line", times(60_000, "-\t") + "[a](a.md)"),
    Case("items of two kinds in one line", times(30_000, "- * ") + "[a](a.md)"),
    Case("footnotes in one line", times(120_000, "[^a]: ") + "[a](a.md)"),
    Case("footnotes and items in one line", times(60_000, "[^a]: - ") + "[a](a.md)"),
    Case("items one below the other", links: 2_000, each(0..<2_000) { times($0, " ") + "- [a](a.md)" }),
    Case("items around blank lines", times(60_000, "- ") + "x\n" + times(60_000, "\n") + "[a](a.md)"),
    Case("items around a blank line", times(60_000, "- ") + "x\n" + times(120_000, " ") + "\n[a](a.md)"),
    Case("items around lines that go on lazily", times(60_000, "- ") + "x\n" + times(60_000, "y\n") + "[a](a.md)"),
    Case("quotes and items around blank lines", times(30_000, "- > ") + "x\n" + times(60_000, "\n") + "[a](a.md)"),
  ]

  static let inlines: [Case] = [
    Case("brackets", times(60_000, "[") + times(60_000, "]") + " [a](a.md)"),
    Case("brackets before labels", times(30_000, "[") + times(30_000, "][]") + " [a](a.md)"),
    Case("links without an end", times(30_000, "[a](") + "a.md)"),
    Case("destinations with parentheses", times(30_000, "[a](()") + " [a](a.md)"),
    Case("links in many brackets", links: 60_000, times(60_000, "[") + times(60_000, "[a](a.md) ")),
    Case("links in many images", links: 60_000, times(60_000, "![") + times(60_000, "[a](a.md) ")),
    Case("links beside bare addresses", links: 120_000, times(60_000, "[a](a.md) http://a.org ")),
    Case("runs of backticks", each(1..<2_000, " ") { times($0, "`") } + " [a](a.md)"),
    Case("comments without an end", "a " + times(60_000, "<!--") + " [a](a.md)"),
    Case("instructions without an end", "a " + times(60_000, "<?") + " [a](a.md)"),
    Case("character sections without an end", "a " + times(30_000, "<![CDATA[") + " [a](a.md)"),
    Case("declarations without an end", "a " + times(60_000, "<!A ") + " [a](a.md)"),
    Case("bare addresses without a host", times(60_000, "http://!") + " [a](a.md)"),
    Case("parentheses behind a bare address", "http://a.org" + times(120_000, ")")),
  ]

  @Test(arguments: blocks + inlines)
  func markdown_isReadToItsEnd(_ test: Case) {
    let page = markdown(test.text)
    #expect(page.links.count == test.links)
    #expect(page.links.allSatisfy { ["a.md", "http://a.org"].contains($0.destination) })
    #expect(page.problems.isEmpty)
  }

  @Test(arguments: [
    Case("character sections without an end", times(60_000, "<![CDATA[") + "<a href=a.md>"),
    Case("instructions without an end", times(60_000, "<?") + "<a href=a.md>"),
    Case("tags without an end", "<a href=a.md>" + times(60_000, "<a")),
    Case("tags before a value without an end", "<a href=a.md>" + times(60_000, "<a") + " b=\">"),
    Case("declarations without an end", "<a href=a.md>" + times(60_000, "<!")),
  ])
  func html_isReadToItsEnd(_ test: Case) {
    #expect(html(test.text).destinations == ["a.md"])
  }

  @Test func brackets_aroundAPairOfBrackets_areNoLabel() {
    let page = markdown("[[a]] [[a]][] [b [a]][] [[a]](c.md)")
    #expect(page.destinations == ["c.md"])
    #expect(page.problems.isEmpty)
  }

  @Test func destination_withParenthesesNestedDeeperThanCMarkAllows_isNone() {
    func link(_ depth: Int) -> String { "[a](" + Self.times(depth, "(") + Self.times(depth, ")") + ")" }
    #expect(markdown(link(32)).links.count == 1)
    #expect(markdown(link(33)).links.isEmpty)
  }
}
