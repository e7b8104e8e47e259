import Foundation

/// Reads files of every kind.
enum PageReader {
  /// What is in `file`. A file that cannot be read gives a page that says why.
  static func read(_ file: SourceFile) -> Page {
    let bytes: [UInt8]
    do {
      guard file.kind != .unreadableFolder else { throw Disk.Failure.notAllowed }
      bytes = TextEncoding.utf8(try Disk.content(ofFile: file.path))
    } catch {
      var page = Page(file: file)
      page.failure = (error as? Disk.Failure)?.description ?? error.localizedDescription
      return page
    }
    return switch file.kind {
    case .markdown: MarkdownPage.read(bytes, of: file)
    case .html: HTMLPage.read(bytes, of: file)
    case .unreadableFolder: Page(file: file)
    }
  }
}
