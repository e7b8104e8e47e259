import Foundation

/// Reads files of every kind.
enum PageReader {
  /// What is in `file`. A file that cannot be read gives a page that says why.
  static func read(_ file: SourceFile) -> Page {
    let bytes: [UInt8]
    do {
      bytes = Array(try Data(contentsOf: URL(fileURLWithPath: file.path)))
    } catch {
      var page = Page(file: file)
      page.failure = (error as? CocoaError)?.reason ?? error.localizedDescription
      return page
    }
    return switch file.kind {
    case .markdown: MarkdownPage.read(bytes, of: file)
    case .html: HTMLPage.read(bytes, of: file)
    }
  }
}

extension CocoaError {
  /// The usual reasons in few words; nil for the others.
  fileprivate var reason: String? {
    switch code {
    case .fileReadNoSuchFile, .fileNoSuchFile: "the file does not exist"
    case .fileReadNoPermission: "reading it is not allowed"
    default: nil
    }
  }
}
