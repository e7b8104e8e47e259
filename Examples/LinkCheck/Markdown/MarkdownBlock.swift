/// A piece of a Markdown file that can contain links or anchors.
enum MarkdownBlock: Equatable {
  /// Text with inline markup. Link reference definitions still stand at its beginning.
  case paragraph(Passage)
  case heading(Passage)
  /// Raw HTML.
  case html(Passage)
}
