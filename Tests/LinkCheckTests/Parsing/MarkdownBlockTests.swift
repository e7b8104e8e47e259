import Testing

@testable import LinkCheck

@Suite struct MarkdownBlockTests {
  @Test(arguments: [
    "```\n[x](x.md)\n```\n[a](a.md)",
    "```swift\n[x](x.md)\n```\n[a](a.md)",
    "~~~\n[x](x.md)\n```\n[x](x.md)\n~~~\n[a](a.md)",
    "````\n```\n[x](x.md)\n```\n````\n[a](a.md)",
    "```\n[x](x.md)\n`````\n[a](a.md)",
    "   ```\n   [x](x.md)\n  ```\n[a](a.md)",
    "- ```\n  [x](x.md)\n  ```\n- [a](a.md)",
    "- ```\n  [x](x.md)\n\n[a](a.md)",
    "1. text\n\n   ```\n   [x](x.md)\n\n   [x](x.md)\n   ```\n\n   [a](a.md)",
    "> ```\n> [x](x.md)\n[a](a.md)",
    "[a](a.md)\n```\n[x](x.md)",
    "    [x](x.md)\n\n[a](a.md)",
    "\t[x](x.md)\n\n[a](a.md)",
    "[a](a.md)\n\n    [x](x.md)\n\n    [x](x.md)\n",
    "-     [x](x.md)\n\n  [a](a.md)",
    "- b\n\n      [x](x.md)\n\n  [a](a.md)",
    "# Heading\n    [x](x.md)\n[a](a.md)",
    "`[x](x.md)` [a](a.md)",
    "``[x](x.md) ` [x](x.md)`` [a](a.md)",
    "`[x]\n(x.md)` [a](a.md)",
    "<!-- [x](x.md) -->\n[a](a.md)",
    "<!--\n[x](x.md)\n\n[x](x.md)\n-->\n[a](a.md)",
    "text <!-- [x](x.md)\n[x](x.md) --> [a](a.md)",
    "<!-- <a href=\"x.md\"> -->\n[a](a.md)",
    "<script>\nlet x = '[x](x.md)'\n\nlet y = '<a href=\"x.md\">'\n</script>\n\n[a](a.md)",
    "<style>\n\n[x](x.md)\n</style>\n\n[a](a.md)",
    "<div>\n[x](x.md)\n</div>\n\n[a](a.md)",
    "<pre>\n\n[x](x.md)\n\n</pre>\n\n[a](a.md)",
    "<?php [x](x.md)\n\n ?>\n[a](a.md)",
    "<![CDATA[\n[x](x.md)\n]]>\n[a](a.md)",
    "---\nlink: [x](x.md)\n---\n[a](a.md)",
    "<custom-tag>\n[x](x.md)\n\n[a](a.md)",
  ])
  func codeAndRawText_hideLinks(_ text: String) {
    #expect(markdown(text).destinations == ["a.md"])
  }

  @Test(arguments: [
    "text\n    [a](a.md)",
    "- item\n\n    [a](a.md)",
    "10. item\n\n    [a](a.md)",
    "- item\n  - nested\n\n    [a](a.md)",
    "- item\n\t- [a](a.md)",
    "> text\n> > [a](a.md)",
    "``` not a fence ` [a](a.md)",
    "`` unclosed ` [a](a.md)",
    "<div>\n\n[a](a.md)\n\n</div>",
    "<details>\n<summary>More</summary>\n\n[a](a.md)\n</details>",
    "text\n<custom-tag>\n[a](a.md)",
    "<a-tag attribute=1> [a](a.md)",
    "1986\\. A year [a](a.md)",
    "text\n2. [a](a.md)",
    "a < b and [a](a.md) > c",
    "***\n[a](a.md)\n* * *",
    "+ a\n+\n+ [a](a.md)",
    "--- \n[a](a.md)",
    "`` ` `` [a](a.md) `",
    "\\`[a](a.md)\\`",
    "\\<!-- [a](a.md) -->",
    "<!-- --> [b]\n\n[a](a.md)",
  ])
  func textThatOnlyLooksLikeCode_keepsLinks(_ text: String) {
    #expect(markdown(text).destinations == ["a.md"])
  }

  @Test func htmlBlock_givesLinksAndAnchors() {
    let page = markdown(
      """
      <p align="center">
        <a id="top-of-page" href="a.md"><img src="b.png" srcset="c.png 1x, d.png 2x"></a>
      </p>
      <h2 align="center">Raw &amp; <em>ready</em></h2>

      Text <a name="inline"></a> and <span id='other'>more</span>.
      """)
    #expect(page.placed == ["2 a.md", "2 b.png", "2 c.png", "2 d.png"])
    #expect(page.anchors == ["top-of-page", "raw--ready", "inline", "other"])
  }

  @Test func nesting_ofAnyDepth_ends() {
    let quotes = String(repeating: ">", count: 20_000) + " [a](a.md)"
    #expect(markdown(quotes).destinations == ["a.md"])
    let brackets = String(repeating: "[", count: 20_000) + "a](a.md)"
    #expect(markdown(brackets).destinations == ["a.md"])
    #expect(markdown(String(repeating: "[a](", count: 2_000)).destinations.isEmpty)
  }
}
