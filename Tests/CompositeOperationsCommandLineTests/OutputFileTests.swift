import CompositeOperationsCommandLine
import Foundation
import Testing

@Suite(.timeLimit(.minutes(30))) struct OutputFileTests {
  private let text = "first line\nsecond “line”\n"

  private func withFolder(_ body: (URL) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("output-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(folder)
  }

  private func write(_ text: String, to url: URL) throws {
    try OutputFile.write(text, to: url, as: "report")
  }

  @Test func write_toFolder_replacesTheFile() throws {
    try withFolder { folder in
      let file = folder.appendingPathComponent("file")
      for text in ["one", text] {
        try write(text, to: file)
        #expect(try String(contentsOf: file, encoding: .utf8) == text)
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["file"])
    }
  }

  @Test func write_whereNothingCanBeWritten_saysWhereAndWhy() throws {
    try withFolder { folder in
      let file = folder.appendingPathComponent("missing/file.html")
      let error = try #require(throws: OutputFile.Failure.self) { try write(text, to: file) }
      #expect(error.url == file)
      #expect("\(error)".hasPrefix("The report could not be written to “\(file.path)”: "))
      #expect("\(error)".contains("Nothing was left there"))
      #expect(error.errorDescription == "\(error)")
      // A folder is in the way; it stays, and nothing is left beside it.
      let inTheWay = folder.appendingPathComponent("folder")
      try FileManager.default.createDirectory(
        at: inTheWay.appendingPathComponent("full"), withIntermediateDirectories: true)
      #expect(throws: OutputFile.Failure.self) { try write(text, to: inTheWay) }
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["folder"])
    }
  }

  @Test func write_throughLink_keepsTheLink() throws {
    try withFolder { folder in
      let (file, link) = (folder.appendingPathComponent("file"), folder.appendingPathComponent("link"))
      try Data("old".utf8).write(to: file)
      try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
      try write(text, to: link)
      #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link.path) == file.path)
      #expect(try String(contentsOf: file, encoding: .utf8) == text)
    }
  }

  @Test func write_throughLinksToNoFile_keepsThemAndMakesTheFile() throws {
    try withFolder { folder in
      let manager = FileManager.default
      let (first, second) = (folder.appendingPathComponent("first"), folder.appendingPathComponent("second"))
      try manager.createSymbolicLink(atPath: first.path, withDestinationPath: "second")
      try manager.createSymbolicLink(atPath: second.path, withDestinationPath: folder.path + "/file")
      try write(text, to: first)
      #expect(try manager.destinationOfSymbolicLink(atPath: first.path) == "second")
      #expect(try manager.destinationOfSymbolicLink(atPath: second.path) == folder.path + "/file")
      #expect(try String(contentsOf: folder.appendingPathComponent("file"), encoding: .utf8) == text)
    }
  }

  @Test func write_throughACircleOfLinks_isRefused() throws {
    try withFolder { folder in
      let link = folder.appendingPathComponent("link")
      try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: "link")
      #expect(throws: OutputFile.Failure.self) { try write(text, to: link) }
      #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link.path) == "link")
    }
  }

  /// As `/dev/stdout` is a file where a shell has sent the output to one.
  @Test func write_toADescriptorOfAFile_goesOnInTheFile() throws {
    try withFolder { folder in
      let (file, link) = (folder.appendingPathComponent("file"), folder.appendingPathComponent("link"))
      try Data("old\n".utf8).write(to: file)
      let handle = try FileHandle(forWritingTo: file)
      try handle.seekToEnd()
      let path = "/dev/fd/\(handle.fileDescriptor)"
      try write("one\n", to: URL(filePath: path))
      try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: path)
      try write("two\n", to: link)
      try handle.write(contentsOf: Data("three\n".utf8))
      #expect(try String(contentsOf: file, encoding: .utf8) == "old\none\ntwo\nthree\n")
      #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link.path) == path)
    }
  }

  @Test func write_toADescriptorThatOnlyReads_saysWhy_andDoesNotSayThatNothingWasWritten() throws {
    try withFolder { folder in
      let file = folder.appendingPathComponent("file")
      try Data("old".utf8).write(to: file)
      let handle = try FileHandle(forReadingFrom: file)
      let url = URL(filePath: "/dev/fd/\(handle.fileDescriptor)")
      let error = try #require(throws: OutputFile.Failure.self) { try write(text, to: url) }
      #expect("\(error)".contains("Bad file descriptor. A part of it may have been written."), "\(error)")
      #expect(!"\(error)".contains("Nothing was left"))
      #expect(try String(contentsOf: file, encoding: .utf8) == "old")
    }
  }

  /// Like a device, which a test should not write to.
  @Test func write_toPipe_writesAndKeepsIt() throws {
    try withFolder { folder in
      let file = folder.appendingPathComponent("pipe")
      #expect(mkfifo(file.path, 0o600) == 0)
      // Opened for both, so that neither end waits for the other.
      let pipe = try FileHandle(forUpdating: file)
      try write(text, to: file)
      #expect(try pipe.read(upToCount: text.utf8.count) == Data(text.utf8))
      #expect(try FileManager.default.attributesOfItem(atPath: file.path)[.type] as? FileAttributeType != .typeRegular)
    }
  }

  /// Of its own: the machine's null device is not in danger.
  @Test(.enabled(if: geteuid() == 0, "only root makes devices")) func write_toDevice_writesAndKeepsIt() throws {
    try withFolder { folder in
      let (file, link) = (folder.appendingPathComponent("null"), folder.appendingPathComponent("link"))
      #if canImport(Darwin)
      let number: dev_t = 3 << 24 | 2
      #else
      let number: dev_t = 1 << 8 | 3
      #endif
      // Not in every container.
      guard mknod(file.path, S_IFCHR | 0o600, number) == 0 else { return }
      try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
      for place in [file, link] { try write(text, to: place) }
      let type = try FileManager.default.attributesOfItem(atPath: file.path)[.type] as? FileAttributeType
      #expect(type == .typeCharacterSpecial)
      #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link.path) == file.path)
    }
  }

  @Test func write_toFolder_isRefused_andSaysThatNothingWasWritten() throws {
    try withFolder { folder in
      let error = try #require(throws: OutputFile.Failure.self) { try write(text, to: folder) }
      #expect("\(error)".contains("Is a directory. Nothing was left there"), "\(error)")
    }
  }

  /// As `/dev/stdout` does with a program whose output another one reads.
  @Test func write_toLinkThatLeadsToAPipeWithoutPath_writesThere() throws {
    let pipe = Pipe()
    try write(text, to: URL(filePath: "/dev/fd/\(pipe.fileHandleForWriting.fileDescriptor)"))
    #expect(try pipe.fileHandleForReading.read(upToCount: text.utf8.count) == Data(text.utf8))
  }

  @Test(.enabled(if: geteuid() != 0, "nothing is read-only to root")) func write_toReadOnlyFile_leavesIt() throws {
    try withFolder { folder in
      let file = folder.appendingPathComponent("file")
      try Data("old".utf8).write(to: file)
      try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: file.path)
      #expect(throws: OutputFile.Failure.self) { try write(text, to: file) }
      #expect(try String(contentsOf: file, encoding: .utf8) == "old")
    }
  }

  @Test func write_toRemoteAddress_isRefused() throws {
    let url = try #require(URL(string: "https://example.org/timeline.html"))
    let error = try #require(throws: OutputFile.Failure.self) { try write(text, to: url) }
    #expect("\(error)".contains("https://example.org/timeline.html"))
  }
}
