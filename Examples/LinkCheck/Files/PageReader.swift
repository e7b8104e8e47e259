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

/// How the bytes of a file stand for text.
enum TextEncoding {
  /// The text of a file in UTF-8. Files in UTF-16 begin with a mark that says so; everything else
  /// stays what it is, since links and their syntax are the same in all encodings that begin with
  /// ASCII.
  static func utf8(_ bytes: [UInt8]) -> [UInt8] {
    switch (bytes.first, bytes.dropFirst().first) {
    case (0xFF, 0xFE): utf8(bytes, high: 1)
    case (0xFE, 0xFF): utf8(bytes, high: 0)
    default: bytes
    }
  }

  /// - Parameter high: which byte of each two is the high one. The first two are the mark.
  private static func utf8(_ bytes: [UInt8], high: Int) -> [UInt8] {
    let units = stride(from: 2, to: bytes.count - 1, by: 2).map { index in
      UInt16(bytes[index + high]) << 8 | UInt16(bytes[index + 1 - high])
    }
    return Array(String(decoding: units, as: UTF16.self).utf8)
  }
}
