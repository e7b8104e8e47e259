import Foundation

/// Reads files of every kind.
enum PageReader {
  /// What is in `file`. A file that cannot be read gives a page that says why.
  static func read(_ file: SourceFile) -> Page {
    let bytes: [UInt8]
    do {
      guard file.kind != .unreadableFolder else { throw CocoaError(.fileReadNoPermission) }
      bytes = TextEncoding.utf8(Array(try Data(contentsOf: URL(fileURLWithPath: file.path))))
    } catch {
      var page = Page(file: file)
      page.failure = reason(for: error, at: file)
      return page
    }
    return switch file.kind {
    case .markdown: MarkdownPage.read(bytes, of: file)
    case .html: HTMLPage.read(bytes, of: file)
    case .unreadableFolder: Page(file: file)
    }
  }

  /// The usual reasons in few words.
  private static func reason(for error: any Error, at file: SourceFile) -> String {
    if file.kind != .unreadableFolder, isOfAnotherKind(file.path) { return "it is not a regular file" }
    switch (error as? CocoaError)?.code {
    case .fileReadNoSuchFile?, .fileNoSuchFile?: return "the file does not exist"
    case .fileReadNoPermission?: return "reading it is not allowed"
    default: return error.localizedDescription
    }
  }

  /// Whether something is at `path` that is no file to be read, such as a named pipe.
  private static func isOfAnotherKind(_ path: String) -> Bool {
    let path = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    let type = (try? FileManager.default.attributesOfItem(atPath: path))?[.type] as? FileAttributeType
    // What is still a symbolic link leads nowhere.
    return type != nil && type != .typeRegular && type != .typeSymbolicLink
  }
}
