#if os(macOS) || os(Linux)
import Foundation
import Testing

@Suite(.timeLimit(.minutes(30))) struct LocalLinkTests {
  @Test func links_thatAreAllGood_exitWithZero() async throws {
    let folder = try TemporaryFolder([
      "README.md": """
      # Title
      [guide](docs/guide.md) [section](docs/guide.md#the-section) [again](docs/guide.md#the-section-1)
      [html](docs/page.html#here) [folder](docs/) [folder](docs) [image](docs/a%20b.png) [self](#title) [top](#top)
      [root](/docs/guide.md) [source](code.swift#L3-L5) [code](<docs/a b.png>) [query](docs/guide.md?plain=1#L2)
      [dots](./docs/../docs/./guide.md) [here](.) [index](docs/#read-me) [ü](docs/%C3%BC.md) [ü](docs/ü.md#ü-ü)
      """,
      "docs/README.md": "# Read me\n[up](../README.md#title) [sibling](guide.md) [page](page.html#named)",
      "docs/guide.md": "## The section\n## The section\n[back](..)",
      "docs/page.html": "<p id=here><a name='named' href='guide.md#the-section'>x</a> <a href='#here'>y</a>",
      "docs/ü.md": "# Ü ü",
      "docs/a b.png": "", "code.swift": "",
    ])
    let result = try await Tool.run("README.md", "docs", in: folder)
    #expect(result.output == "24 links in 5 files: 24 good, 0 broken.\n")
    #expect(result.status == 0)
  }

  @Test func links_thatAreBroken_areListedWithFileAndLine() async throws {
    let folder = try TemporaryFolder([
      "README.md": """
      [gone](gone.md)

      [case](docs/Guide.md) and [near](docs/guid.md)
      [anchor](docs/guide.md#secton) [anchor](docs/guide.md#Section)
      [none](docs/guide.md#xyzzy) [empty]() [reference][nope]
      [file](docs/guide.md/) [through](docs/guide.md/more.md)
      [index](docs#section)
      """,
      "docs/guide.md": "# Section\n",
    ])
    let result = try await Tool.run("README.md", "docs", in: folder)
    #expect(
      result.output == """
        Broken links:
          README.md:1  gone.md                no gone.md
          README.md:3  docs/Guide.md          no Guide.md in docs, but guide.md: mind the case
          README.md:3  docs/guid.md           no guid.md in docs; did you mean guide.md?
          README.md:4  docs/guide.md#Section  no anchor #Section, but #section: mind the case
          README.md:4  docs/guide.md#secton   no anchor #secton; did you mean #section?
          README.md:5                         the link has no destination
          README.md:5  [nope]                 nothing defines this label
          README.md:5  docs/guide.md#xyzzy    no anchor #xyzzy
          README.md:6  docs/guide.md/         is a file, not a folder
          README.md:6  docs/guide.md/more.md  docs/guide.md is a file, not a folder
          README.md:7  docs#section           no #section: the folder has neither a read-me nor an index page

        11 links in 2 files: 0 good, 11 broken.

        """)
    #expect(result.status == 1)
  }

  @Test func anchors_ofFilesThatAreNotChecked_areReadToo() async throws {
    let folder = try TemporaryFolder([
      "README.md": "[a](docs/guide.md#section) [b](docs/guide.md#gone) [c](docs/more#inside) [d](docs/page.html#x)",
      "docs/guide.md": "# Section\n[not checked](gone.md)", "docs/more/index.md": "# Inside",
      "docs/page.html": "<a id=x>",
    ])
    let report = try await Tool.run("--json", "README.md", in: folder).report()
    #expect(report.files == 1)
    #expect(report.links.good == 3)
    #expect(report.broken.map(\.link) == ["docs/guide.md#gone"])
  }

  @Test func anchors_ofUnusualKinds_areFound() async throws {
    let folder = try TemporaryFolder([
      "a.html": """
      <p id="x%3Cy"><p id="z z"><a href="#x%3Cy">raw</a> <a href="#z%20z">decoded</a> <a href="old.html#any">forwarded</a>
      <a href="code.html#L3">x</a><a href="code.html#L3C1-L7C2">x</a><a href="code.html#3-7">x</a><a href="#:~:text=z">x</a>
      <a href="code.html#L">x</a><a href="code.html#3">x</a><a href="code.html#L3-">x</a><a href="code.html#3-x">x</a>
      """,
      "old.html": "<meta http-equiv=refresh content='0; url=a.html'>", "code.html": "",
      "b.md": "# B\n[b](#user-content-b)",
    ])
    let report = try await Tool.run("--json", ".", in: folder).report()
    #expect(report.broken.map(\.link) == ["code.html#3", "code.html#3-x", "code.html#L", "code.html#L3-"])
    #expect(report.links.good == 9)
  }

  @Test func links_thatLeaveTheRoot_areBroken() async throws {
    let folder = try TemporaryFolder([
      "project/docs/guide.md":
        "[out](../../outside.md) [back](../../project/docs/guide.md) [up](../README.md) [abs](/README.md)",
      "project/README.md": "", "outside.md": "", "project/.git/HEAD": "",
    ])
    let report = try await Tool.run("--json", "project/docs", in: folder).report()
    #expect(report.broken.map(\.link) == ["../../outside.md", "../../project/docs/guide.md"])
    #expect(report.broken[0].reason == "leads out of the root folder \(folder.path)/project")
    #expect(report.links.good == 2)
  }

  @Test func root_whenGiven_bindsAbsoluteLinksAndBounds() async throws {
    let folder = try TemporaryFolder([
      "site/docs/guide.md": "[abs](/images/a.png) [up](../images/a.png) [out](../../top.md)", "site/images/a.png": "",
      "top.md": "",
    ])
    let wide = try await Tool.run("--json", "--root", ".", "site", in: folder).report()
    #expect(wide.broken.map(\.link) == ["/images/a.png"])
    let narrow = try await Tool.run("--json", "--root=site", "site", in: folder).report()
    #expect(narrow.broken.map(\.link) == ["../../top.md"])
  }

  @Test func otherSchemes_areSkippedAndCounted() async throws {
    let folder = try TemporaryFolder([
      "a.md":
        "[m](mailto:a@b.org) <c@d.org> [t](tel:+123) ![d](data:image/png;base64,AA==) [x](xcode://open) [f](FTP://a.b/)",
      "b.html": "<a href='javascript:void(0)'>x</a>",
    ])
    let result = try await Tool.run("--json", ".", in: folder)
    let report = try result.report()
    #expect(report.skipped == ["mailto": 2, "tel": 1, "data": 1, "xcode": 1, "ftp": 1, "javascript": 1])
    #expect(report.links.skipped == 7)
    #expect(result.status == 0)
    let text = try await Tool.run(".", in: folder)
    #expect(
      text.output
        == "7 links in 2 files: 0 good, 0 broken, 7 skipped (data 1, ftp 1, javascript 1, mailto 2, tel 1, xcode 1).\n")
  }

  @Test func files_thatAreHiddenOrOfOtherKinds_areLeftOut() async throws {
    let folder = try TemporaryFolder([
      "a.md": "", "b.markdown": "", "c.html": "", "d.HTM": "", "e.txt": "[x](x)", ".f.md": "[x](x)",
      ".g/h.md": "[x](x)",
      "sub/deep/i.md": "",
    ])
    #expect(try await Tool.run("--json", ".", in: folder).report().files == 5)
    // Named twice is checked once; named alone, a hidden file is checked.
    #expect(try await Tool.run("--json", "a.md", ".", "./a.md", "sub/../a.md", in: folder).report().files == 5)
    #expect(try await Tool.run("--json", ".f.md", in: folder).report().broken.count == 1)
  }

  @Test func symbolicLinks_toFilesAreRead_toFoldersNotFollowed() async throws {
    let folder = try TemporaryFolder(["docs/a.md": "[b](b.md)", "docs/b.md": "[linked](linked.md)"])
    try folder.link("docs/linked.md", to: "b.md")
    try folder.link("docs/circle", to: ".")
    let result = try await Tool.run("--json", "docs", in: folder)
    #expect(try result.report().files == 3)
    #expect(result.status == 0)
  }

  @Test func file_thatCannotBeRead_isReportedAndFails() async throws {
    let folder = try TemporaryFolder(["a.md": "[b](b.md)", "b.md": ""])
    try folder.link("dangling.md", to: "nowhere.md")
    let result = try await Tool.run("--json", ".", in: folder)
    #expect(result.status == 1)
    #expect(try result.report().unreadable == [.init(file: "dangling.md", reason: "the file does not exist")])
    #expect(
      try await Tool.run(".", in: folder).output.hasPrefix(
        "Unreadable files:\n  dangling.md  the file does not exist\n"))
  }

  @Test func folders_nestedDeeperThanAPathCanSay_areChecked() async throws {
    let folder = try TemporaryFolder(["a.md": "# A"])
    let up = String(repeating: "../", count: 2_500)
    let deep = try DeepFolder(
      ["b.md": "[gone](gone.md) [beside](c.html#x) [up](\(up)a.md#a) [wrong](\(up)a.md#b)", "c.html": "<p id=x>"],
      pieces: 50, in: folder)
    let result = try await Tool.run("--json", ".", in: folder)
    let report = try result.report()
    #expect(report.files == 3)
    #expect(report.unreadable.isEmpty)
    #expect(report.broken.map(\.file) == [deep.name + "/b.md", deep.name + "/b.md"])
    #expect(report.broken.map(\.reason) == ["no anchor #b; did you mean #a?", "no gone.md in \(deep.name)"])
    #expect(report.links.good == 2)
    #expect(result.status == 1)
  }

  @Test func file_thatIsNoRegularFile_isReportedAsThat() async throws {
    let folder = try TemporaryFolder(["a.md": "[pipe](pipe.md)"])
    folder.pipe("pipe.md")
    let report = try await Tool.run("--json", ".", in: folder).report()
    #expect(report.unreadable == [.init(file: "pipe.md", reason: "it is not a regular file")])
  }

  @Test func anchor_inAFileThatCannotBeRead_isBrokenForThatReason() async throws {
    let folder = try TemporaryFolder(["a.md": "[pipe](pipe.md#x) [other](b.md#y)", "b.md": ""])
    folder.pipe("pipe.md")
    let report = try await Tool.run("--json", "a.md", in: folder).report()
    #expect(report.broken.map(\.reason) == ["no anchor #y", "no anchor #x: the file could not be read"])
  }

  @Test(arguments: [String.Encoding.utf16LittleEndian, .utf16BigEndian])
  func file_inUTF16_isReadAsText(encoding: String.Encoding) async throws {
    let folder = try TemporaryFolder(["b.md": "[anchor](a.md#üb)"])
    try folder.write(try #require("\u{FEFF}# Üb\n[gone](gone.md)\n".data(using: encoding)), to: "a.md")
    let report = try await Tool.run("--json", ".", in: folder).report()
    #expect(report.broken.map { "\($0.file):\($0.line) \($0.link)" } == ["a.md:2 gone.md"])
    #expect(report.links.good == 1)
  }

  @Test func base_ofAnHTMLPage_movesItsRelativeLinks() async throws {
    let folder = try TemporaryFolder([
      "a/page.html": "<base href='../b/'><a href='c.html'>x</a><a href='gone.html'>x</a><a href='#y' id=y>x</a>",
      "b/c.html": "",
    ])
    let report = try await Tool.run("--json", "a", "b", in: folder).report()
    #expect(report.broken.map(\.link) == ["gone.html"])
    #expect(report.links.good == 2)
  }
}
#endif
