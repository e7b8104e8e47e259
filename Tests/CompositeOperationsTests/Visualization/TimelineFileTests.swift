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

  @Test func write_toRemoteAddress_isRefused() throws {
    let url = try #require(URL(string: "https://example.org/timeline.html"))
    let error = try #require(throws: TimelineWriteError.self) { try timeline.write(html: url) }
    #expect("\(error)".contains("https://example.org/timeline.html"))
  }
}
