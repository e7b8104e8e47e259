import Testing

@testable import LinkCheck

@Suite struct AnchorTests {
  @Test(arguments: [
    ("Simple Title", "simple-title"),
    ("What's new in 2.0?", "whats-new-in-20"),
    ("snake_case and kebab-case", "snake_case-and-kebab-case"),
    ("_Emphasis_ and __strong__", "emphasis-and-strong"),
    ("*Emphasis* and **strong** and ~~gone~~", "emphasis-and-strong-and-gone"),
    ("`code_span()` and ``a ` b``", "code_span-and-a--b"),
    ("A [link](to.md) and [other][ref]", "a-link-and-other"),
    ("![logo](l.png) Title", "-title"),
    ("A & B", "a--b"),
    ("A &amp; B", "a--b"),
    ("C++ / C#", "c--c"),
    ("Über Größe", "über-größe"),
    ("日本語 の 見出し", "日本語-の-見出し"),
    ("1. First", "1-first"),
    ("<a id=\"x\"></a>Title", "title"),
    ("Trailing marks ##", "trailing-marks"),
    ("C \\# D", "c--d"),
    ("\\_kept\\_", "_kept_"),
    ("init(_:operationQueue:)", "init_operationqueue"),
    ("🎉 Party", "-party"),
    ("<https://a.org>", "httpsaorg"),
    ("Tab\there", "tabhere"),
  ])
  func heading_getsTheAnchorThatGitHubGives(_ heading: String, _ anchor: String) {
    #expect(markdown("[ref]: r.md\n\n# \(heading)").anchors.contains(anchor), "\(markdown("# \(heading)").anchors)")
  }

  @Test func headings_thatAreEqual_areNumbered() {
    #expect(markdown("# A\n## A\n### a\n# A-1\n# A").anchors == ["a", "a-1", "a-2", "a-1-1", "a-3"])
  }

  @Test(arguments: ["# A", "#  A  #", "   # A", "A\n=", "A\n---", "> # A", "- # A", "#\tA", "[r]: x\nA\n==="])
  func headings_inEveryForm_count(_ text: String) {
    #expect(markdown(text).anchors == ["a"])
  }

  @Test(arguments: [
    "#A", "####### A", "    # A", "\\# A", "```\n# A\n```", "<!-- \n# A\n-->", "A\n\n---", "a | b\n--- | ---",
  ])
  func textThatOnlyLooksLikeAHeading_doesNot(_ text: String) {
    #expect(markdown(text).anchors.isEmpty)
  }

  @Test func setextHeading_ofSeveralLines_isOne() {
    #expect(markdown("One\ntwo\n===").anchors == ["onetwo"])
  }
}
