#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

@testable import Outbox

@Suite(.timeLimit(.minutes(30))) struct EnqueueTests {
  @Test func hiddenFilesAndFolders_areLeftOut() async throws {
    let folder = try TemporaryFolder(["letters/a.txt": "a", "letters/.hidden": "h", "letters/sub/b.txt": "b"])
    let result = try await Program.run("enqueue", "letters", in: folder)
    #expect(result.status == 0)
    #expect(result.lines == ["1 message stored."])
    #expect(result.errors == "")
    let status = try await Program.run("status", in: folder)
    #expect(status.lines == ["1 message: 1 waiting.", "  #1  a.txt  waiting"])
  }

  @Test func fileOfTheLargestSize_isStored_andALargerOneIsTold() async throws {
    let folder = try TemporaryFolder(["letters/a.txt": "a"])
    // Nothing takes more room as JSON: the characters for three of these bytes are four slashes,
    // which are escaped.
    let largest = Data(repeating: 0xFF, count: Message.largestContent)
    try largest.write(to: URL(fileURLWithPath: folder.path + "/letters/largest"))
    try (largest + Data([0])).write(to: URL(fileURLWithPath: folder.path + "/letters/larger"))
    let result = try await Program.run("enqueue", "letters", in: folder)
    #expect(result.status == 1)
    #expect(result.lines == ["2 messages stored."])
    #expect(
      result.errors
        == "Outbox: larger takes 1000001 bytes, and a message can take 1000000 at most. Split it, or put it "
        + "where the receiver finds it and send a message that tells where.\n")
  }

  @Test func whatIsNoRegularFile_isLeftOut_andTold() async throws {
    let folder = try TemporaryFolder(["letters/a.txt": "a"])
    #expect(mkfifo(folder.path + "/letters/pipe", 0o600) == 0)
    let result = try await Program.run("enqueue", "letters", in: folder)
    #expect(result.status == 0)
    #expect(result.lines == ["1 message stored."])
    #expect(result.errors == "Outbox: pipe is no regular file, and was left out.\n")
  }

  @Test func links_standForWhatTheyLeadTo() async throws {
    let folder = try TemporaryFolder(["letters/a.txt": "a", "sub/b.txt": "b"])
    let manager = FileManager.default
    for (link, target) in [("file", "a.txt"), ("folder", "../sub"), ("nothing", "nowhere")] {
      try manager.createSymbolicLink(atPath: folder.path + "/letters/" + link, withDestinationPath: target)
    }
    let result = try await Program.run("enqueue", "letters", in: folder)
    #expect(result.status == 1)
    #expect(result.lines == ["2 messages stored."])
    #expect(result.errors.hasPrefix("Outbox: nothing cannot be read: "), "\(result.errors)")
    #expect(result.errors.count { $0 == "\n" } == 1)
  }

  @Test func digestOfNoMessages_namesTheDatabaseInItsAdvice() async throws {
    let folder = try TemporaryFolder(["letters/.hidden": ""])
    for database in ["other.sqlite", "it's one.sqlite"] {
      _ = try await Program.run("enqueue", "letters", "--database", database, in: folder)
      let result = try await Program.run("digest", "--database", database, in: folder)
      #expect(result.status == 1)
      let word = database == "other.sqlite" ? database : "'it'\\''s one.sqlite'"
      #expect(
        result.errors == "Outbox: There are no messages in \(database). Store some: "
          + "Outbox enqueue FOLDER --database \(word)\n")
    }
  }
}
#endif
