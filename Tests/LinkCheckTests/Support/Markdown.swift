@testable import LinkCheck

/// The page that a Markdown text makes.
func markdown(_ text: String) -> Page {
  MarkdownPage.read(
    Array(text.utf8), of: SourceFile(path: "/docs/page.md", name: "page.md", kind: .markdown, root: "/"))
}

/// The page that an HTML text makes.
func html(_ text: String) -> Page {
  HTMLPage.read(Array(text.utf8), of: SourceFile(path: "/docs/page.html", name: "page.html", kind: .html, root: "/"))
}

extension Page {
  var destinations: [String] { links.map(\.destination) }

  /// The links as `line destination`.
  var placed: [String] { links.map { "\($0.line) \($0.destination)" } }
}
