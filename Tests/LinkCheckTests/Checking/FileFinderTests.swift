import ExampleSupport
import Foundation
import Testing

@testable import LinkCheck

@Suite struct FileFinderTests {
  private struct NotAllowed: Error {}

  /// A finder to which the folder `closed` does not open.
  private func finder(in folder: TemporaryFolder) -> FileFinder {
    FileFinder(root: nil, currentFolder: folder.path) { path in
      if path.hasSuffix("/closed") { throw NotAllowed() }
      return try FileManager.default.contentsOfDirectory(atPath: path)
    }
  }

  @Test func folderBelow_thatCannotBeRead_isListedAndItsNeighboursAreFound() throws {
    let folder = try TemporaryFolder(["a.md": "", "closed/b.md": "", "sub/c.html": ""])
    let files = try finder(in: folder).find(["."])
    #expect(files.map(\.name) == ["a.md", "closed", "sub/c.html"])
    #expect(files.map(\.kind) == [.markdown, .unreadableFolder, .html])
    let page = PageReader.read(files[1])
    #expect(page.failure == "reading it is not allowed")
  }

  @Test func folderBelow_withANameThatSaysNothing_isListed() throws {
    let folder = try TemporaryFolder(["a.md": "", "sub/b.md": ""])
    let finder = FileFinder(root: nil, currentFolder: folder.path) { path in
      // No file can have a name as long as this, so it cannot be known whether this is a folder.
      try FileManager.default.contentsOfDirectory(atPath: path)
        + (path.hasSuffix("/sub") ? [String(repeating: "x", count: 300)] : [])
    }
    let files = try finder.find(["."])
    #expect(files.map(\.name) == ["a.md", "sub", "sub/b.md"])
    #expect(files.map(\.kind) == [.markdown, .unreadableFolder, .markdown])
  }

  @Test func folder_thatWasNamedAndCannotBeRead_isAWrongCommandLine() throws {
    let folder = try TemporaryFolder(["a.md": "", "closed/b.md": ""])
    #expect(throws: UsageError.self) { try finder(in: folder).find(["a.md", "closed"]) }
  }
}
