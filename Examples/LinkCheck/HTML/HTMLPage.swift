/// Reads an HTML file.
enum HTMLPage {
  static func read(_ bytes: [UInt8], of file: SourceFile) -> Page {
    let passage = Passage(wholeFile: bytes)
    var page = Page(file: file)
    for event in HTMLScanner.events(in: bytes) {
      switch event {
      case .link(let destination, let offset):
        page.links.append(Page.Link(destination: destination, line: passage.line(at: offset)))
      case .anchor(let name): page.anchors.insert(name)
      case .base(let base): page.base = page.base ?? base
      case .forward: page.isForwarded = true
      // Only GitHub gives headings an anchor by themselves.
      case .heading: break
      }
    }
    return page
  }
}
