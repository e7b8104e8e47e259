/// A file whose links are checked, or whose anchors are needed.
struct SourceFile: Hashable, Sendable {
  enum Kind: Sendable {
    case markdown, html
    /// A folder in a searched one that could not be searched.
    case unreadableFolder
  }

  /// The absolute path, without `.`, `..` or a slash at the end.
  let path: String

  /// How the report names the file: relative to the current folder where it lies in there.
  let name: String

  let kind: Kind

  /// The folder that this file's links must stay in.
  let root: String

  /// What a file of this name is read as; nil for everything that is neither Markdown nor HTML.
  static func kind(ofPath path: String) -> Kind? {
    // A dot in front hides a file and begins no extension.
    let parts = FilePath.name(of: path).dropFirst().split(separator: ".", omittingEmptySubsequences: false)
    return switch parts.count > 1 ? parts.last?.lowercased() : nil {
    case "md", "markdown": .markdown
    case "html", "htm": .html
    default: nil
    }
  }
}
