import Testing

@testable import LinkCheck

@Suite struct MarkdownLinkTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let text: String
    let destinations: [String]

    init(_ text: String, _ destinations: String...) {
      self.text = text
      self.destinations = destinations
    }

    var testDescription: String { text }
  }

  @Test(arguments: [
    Case("[a](b.md)", "b.md"),
    Case("[a](b.md 'title') and [c](d.md \"title\") and [e](f.md (title))", "b.md", "d.md", "f.md"),
    Case("[a](  b.md  )", "b.md"),
    Case("[a](\nb.md\n\"title\"\n)", "b.md"),
    Case("[a]()", ""),
    Case("[a](<>)", ""),
    Case("[a](<b c.md>)", "b c.md"),
    Case("[a](<b)c.md> \"t\")", "b)c.md"),
    Case("[a](b c.md)"),
    Case("[a] (b.md)"),
    Case("[a](b(c)d.md)", "b(c)d.md"),
    Case("[a](b((c))d.md)", "b((c))d.md"),
    Case("[a](b\\(c.md)", "b(c.md"),
    Case("[a](b(c.md)"),
    Case("[a](b.md)) after", "b.md"),
    Case("[a](b\\*c\\d.md)", "b*c\\d.md"),
    Case("[a](b?x=1&amp;y=2)", "b?x=1&y=2"),
    Case("[a](b?x=1&copy=2)", "b?x=1&copy=2"),
    Case("[a](&#98;.m&#x64;)", "b.md"),
    Case("[a [b] c](d.md)", "d.md"),
    Case("[a \\] b](c.md)", "c.md"),
    Case("[a ] b](c.md)"),
    Case("\\[a](b.md)"),
    Case("\\\\[a](b.md)", "b.md"),
    Case("!\\[a](b.md)"),
    Case("\\![a](b.md)", "b.md"),
    Case("![a](b.png)", "b.png"),
    Case("[![a](b.png)](c.md)", "b.png", "c.md"),
    Case("![a [b](c.md) d](e.png)", "c.md", "e.png"),
    Case("[a [b](c.md) d](e.md)", "c.md"),
    Case("**[a](b.md)** _[c](d.md)_ ~~[e](f.md)~~", "b.md", "d.md", "f.md"),
    Case("[`code]`](b.md)", "b.md"),
    Case("[a `](b.md)` c](d.md)", "d.md"),
    Case("[a <b c=\"](d.md)\"> e](f.md)", "f.md"),
    Case("| [a](b.md) | [c](d.md) |\n| --- | --- |\n| [e](f.md) | g |", "b.md", "d.md", "f.md"),
    Case("# [a](b.md) #", "b.md"),
    Case("[a](b.md)\n===", "b.md"),
    Case("> - 1. [a](b.md)", "b.md"),
    Case("- [ ] [a](b.md)\n- [x] [c](d.md)", "b.md", "d.md"),
    Case("Text[^1].\n\n[^1]: See [a](b.md).\n\n    And [c](d.md).", "b.md", "d.md"),
  ])
  func inlineLinks(_ test: Case) {
    #expect(markdown(test.text).destinations == test.destinations)
  }

  @Test(arguments: [
    Case("<https://a.org/b>", "https://a.org/b"),
    Case("<https://a.org/b?c=d&amp;e=f>", "https://a.org/b?c=d&e=f"),
    Case("<mailto:a@b.org> <a@b.org>", "mailto:a@b.org", "mailto:a@b.org"),
    Case("<https://a.org/b c>", "https://a.org/b"),
    Case("<not an address> <a.b> <@b>"),
    Case("see https://a.org/b. And", "https://a.org/b"),
    Case("(https://a.org/b)", "https://a.org/b"),
    Case("(https://a.org/b_(c))", "https://a.org/b_(c)"),
    Case("https://a.org/b&amp;", "https://a.org/b"),
    Case("https://a.org?b=c&d=e;f", "https://a.org?b=c&d=e;f"),
    Case("www.a.org/b", "http://www.a.org/b"),
    Case("*https://a.org*, \"https://b.org\", **www.c.org**", "https://a.org", "https://b.org", "http://www.c.org"),
    Case("xhttps://a.org awww.b.org http:// www. https://."),
    Case("[https://a.org](b.md)", "b.md"),
    Case("[see https://a.org there](b.md)", "b.md"),
    Case("[https://a.org]", "https://a.org"),
    Case("| https://a.org | b |\n|---|---|\n| https://c.org|d |", "https://a.org", "https://c.org"),
    Case("HTTPS://A.org", "HTTPS://A.org"),
    Case("`https://a.org` and <code>https://b.org</code>", "https://b.org"),
  ])
  func autolinks(_ test: Case) {
    #expect(markdown(test.text).destinations == test.destinations)
  }

  @Test(arguments: [
    Case("[a][b]\n\n[b]: c.md", "c.md"),
    Case("[b]: c.md \"title\"\n[d]: <e f.md> 'title'\n[g]: h.md (title)", "c.md", "e f.md", "h.md"),
    Case("[b]:\n  c.md\n  \"title\n  goes on\"\ntext [d](e.md)", "c.md", "e.md"),
    Case("[b]: c.md\n\"title\" and more", "c.md"),
    Case("[b]: c.md \"title\" and more"),
    Case("text\n[b]: c.md"),
    Case("[b]: <>", ""),
    Case("[b]:\n\ntext"),
    Case("   [b]: c.md", "c.md"),
    Case("    [b]: c.md"),
    Case("> [b]: c.md", "c.md"),
    Case("- item\n\n  [b]: c.md", "c.md"),
    Case("[b]: c.md\n[b]: d.md", "c.md"),
    Case("[b]: c.md\n===\n\n[d](e.md)", "c.md", "e.md"),
    Case("[a\\]b]: c.md\n\n[x][a\\]b]", "c.md"),
    Case("[^1]: not-a-destination"),
    Case("```\n[b]: c.md\n```"),
  ])
  func definitions(_ test: Case) {
    let page = markdown(test.text)
    #expect(page.destinations == test.destinations)
    #expect(page.problems.isEmpty)
  }

  @Test func reference_withAnyCaseAndSpaces_matchesItsDefinition() {
    let page = markdown("[a][Foo\n  BAR] [foo bar] [Foo Bar][] ![x][FOO bar]\n\n[foo  bar]: c.md")
    #expect(page.destinations == ["c.md"])
    #expect(page.problems.isEmpty)
  }

  @Test(arguments: [
    "[a][nope]", "[nope][]", "![a][nope]", "text\nand [a][nope] there",
  ])
  func reference_withoutDefinition_isAProblem(_ text: String) {
    #expect(markdown(text).problems.map(\.text) == ["[nope]"])
  }

  @Test(arguments: [
    "[nope]", "values[0][1]", "[a] [b]", "- [ ] task", "a [^1] b", "`[a][b]`", "\\[a][b]", "[a][b](c.md)", "[][b]",
    "[a][ ]", "matrix [x][y][z]",
  ])
  func brackets_withoutDefinition_areText(_ text: String) {
    #expect(markdown(text).problems.isEmpty)
  }

  @Test func lines_ofEveryKindOfLink_areRight() {
    let page = markdown(
      """
      [one](1.md)

      > quoted [three](3.md)
      > and
      lazy [five](5.md)

      - item

        more [nine](9.md) and
        [ten](
        11.md)

      <p>
      <a
       href="15.md">x</a>
      </p>

      text <img src="18.png"> `a
      b` <https://c.org/19>

      [twenty one]:
      22.md
      """)
    #expect(
      page.placed == [
        "1 1.md", "3 3.md", "5 5.md", "9 9.md", "11 11.md", "15 15.md", "18 18.png", "19 https://c.org/19", "22 22.md",
      ])
  }

  @Test func lineEnds_ofWindows_changeNothing() {
    let page = markdown("\u{FEFF}# T\r\n\r\n[a](b.md)\r\n\r\n```\r\n[c](d.md)\r\n```\r\n[e]: f.md\r\n")
    #expect(page.placed == ["3 b.md", "8 f.md"])
    #expect(page.anchors == ["t"])
  }
}
