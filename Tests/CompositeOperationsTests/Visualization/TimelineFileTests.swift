import CompositeOperations
import Foundation
import Testing

@Suite("9 Timelines as files")
struct TimelineFileTests {
  private let timeline = Timeline(entries: [.init(id: 1, name: "one", started: .zero, settled: .seconds(1))])

  private func withFolder(_ body: (URL) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("timelines-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(folder)
  }

  @Test func write_toFolder_replacesTheFile() throws {
    try withFolder { folder in
      let file = folder.appendingPathComponent("file")
      try timeline.write(html: file, title: "one")
      #expect(try String(contentsOf: file, encoding: .utf8) == timeline.html(title: "one"))
      try timeline.write(chromeTrace: file)
      #expect(try String(contentsOf: file, encoding: .utf8) == timeline.chromeTrace())
      try timeline.write(textTree: file)
      #expect(try String(contentsOf: file, encoding: .utf8) == timeline.textTree())
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["file"])
    }
  }

  @Test func write_whereNothingCanBeWritten_saysWhereAndWhy() throws {
    try withFolder { folder in
      let file = folder.appendingPathComponent("missing/file.html")
      let error = try #require(throws: TimelineWriteError.self) { try timeline.write(html: file) }
      #expect(error.url == file)
      #expect("\(error)".hasPrefix("The timeline could not be written to “\(file.path)”: "))
      #expect(error.errorDescription == "\(error)")
      // A folder is in the way; it stays, and nothing is left beside it.
      let inTheWay = folder.appendingPathComponent("folder")
      try FileManager.default.createDirectory(
        at: inTheWay.appendingPathComponent("full"), withIntermediateDirectories: true)
      #expect(throws: TimelineWriteError.self) { try timeline.write(textTree: inTheWay) }
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["folder"])
    }
  }

  @Test func write_throughLink_keepsTheLink() throws {
    try withFolder { folder in
      let (file, link) = (folder.appendingPathComponent("file"), folder.appendingPathComponent("link"))
      try Data("old".utf8).write(to: file)
      try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
      try timeline.write(textTree: link)
      #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link.path) == file.path)
      #expect(try String(contentsOf: file, encoding: .utf8) == timeline.textTree())
    }
  }

  /// As a device is, which a test had better not try.
  @Test func write_toPipe_writesAndKeepsIt() throws {
    try withFolder { folder in
      let file = folder.appendingPathComponent("pipe")
      #expect(mkfifo(file.path, 0o600) == 0)
      // Opened for both, so that neither end waits for the other.
      let pipe = try FileHandle(forUpdating: file)
      try timeline.write(textTree: file)
      let text = timeline.textTree()
      #expect(try pipe.read(upToCount: text.utf8.count) == Data(text.utf8))
      #expect(try FileManager.default.attributesOfItem(atPath: file.path)[.type] as? FileAttributeType != .typeRegular)
    }
  }

  @Test(.enabled(if: geteuid() != 0, "nothing is read-only to root")) func write_toReadOnlyFile_leavesIt() throws {
    try withFolder { folder in
      let file = folder.appendingPathComponent("file")
      try Data("old".utf8).write(to: file)
      try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: file.path)
      #expect(throws: TimelineWriteError.self) { try timeline.write(textTree: file) }
      #expect(try String(contentsOf: file, encoding: .utf8) == "old")
    }
  }

  @Test func write_toRemoteAddress_isRefused() throws {
    let url = try #require(URL(string: "https://example.org/timeline.html"))
    let error = try #require(throws: TimelineWriteError.self) { try timeline.write(html: url) }
    #expect("\(error)".contains("https://example.org/timeline.html"))
  }
}
