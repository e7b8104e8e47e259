/// Reads a Markdown file.
enum MarkdownPage {
  static func read(_ bytes: [UInt8], of file: SourceFile) -> Page {
    let parser = MarkdownBlockParser(bytes)
    var page = Page(file: file)
    var anchors = Anchors()
    for block in parser.blocks {
      switch block {
      case .paragraph(let passage):
        _ = read(passage, definitions: parser.definitions, into: &page, &anchors)
      case .heading(let passage):
        let text = read(passage, definitions: parser.definitions, into: &page, &anchors)
        anchors.addHeading(text)
      case .html(let passage):
        read(passage, into: &page, &anchors)
      }
    }
    page.links += parser.definitions.all.map { Page.Link(destination: $0.destination, line: $0.line) }
    page.links.sort { $0.line < $1.line }
    page.anchors = anchors.names
    return page
  }

  /// Returns the text that the passage shows.
  private static func read(
    _ passage: Passage, definitions: LinkDefinitions, into page: inout Page, _ anchors: inout Anchors
  ) -> String {
    let inline = MarkdownInline(passage.bytes, definitions: definitions)
    for link in inline.links {
      page.links.append(Page.Link(destination: link.destination, line: passage.line(at: link.offset)))
    }
    for name in inline.anchors { anchors.addName(name) }
    for (label, offset) in inline.undefined {
      page.problems.append(
        Page.Problem(text: "[\(label)]", line: passage.line(at: offset), reason: "nothing defines this label"))
    }
    return inline.text.string
  }

  private static func read(_ html: Passage, into page: inout Page, _ anchors: inout Anchors) {
    for event in HTMLScanner.events(in: html.bytes) {
      switch event {
      case .link(let destination, let offset):
        page.links.append(Page.Link(destination: destination, line: html.line(at: offset)))
      case .anchor(let name): anchors.addName(name)
      case .heading(let text): anchors.addHeading(text)
      case .base, .forward: break
      }
    }
  }
}

/// A piece of a Markdown file that can contain links or anchors.
enum MarkdownBlock: Equatable {
  /// Text with inline markup. Link reference definitions still stand at its beginning.
  case paragraph(Passage)
  case heading(Passage)
  /// Raw HTML.
  case html(Passage)
}
