import DurableOperations
import Foundation
import TestSupport
import Testing

@testable import DurableQueueTool

@Suite(.timeLimit(.minutes(30))) struct FileTests {
  @Test(arguments: Verb.allCases.filter(\.takesPlace)) func fileThatIsNotThere_isAnError_andIsNotMade(_ verb: Verb)
    throws
  {
    let sample = try Sample()
    let words = verb.exampleWords
    let errors = Locked("")
    let command = DurableQueueCommand { _ in
      Issue.record("nothing is to be printed")
    } errors: { text in
      errors.withLock { $0 += text }
    }
    #expect(command.run([verb.rawValue, sample.path] + words.dropFirst()) == 1)
    #expect(errors.current.hasPrefix("durable-queue: There is no file \(sample.path)."))
    #expect(try FileManager.default.contentsOfDirectory(atPath: sample.folder.path).isEmpty)
  }

  @Test(arguments: ["", "This is a text, and no database at all."])
  func fileThatIsNoDatabase_isAnError_andStaysAsItIs(_ content: String) throws {
    let sample = try Sample()
    try Data(content.utf8).write(to: URL(fileURLWithPath: sample.path))
    let ran = tool("list", sample.path)
    #expect(ran.status == 1)
    #expect(ran.output == "")
    #expect(ran.errors.hasPrefix("durable-queue: ") && ran.errors.contains(sample.path), "\(ran.errors)")
    #expect(try String(contentsOfFile: sample.path, encoding: .utf8) == content)
    #expect(try FileManager.default.contentsOfDirectory(atPath: sample.folder.path).count == 1)
  }

  @Test func databaseOfAnotherProgram_isAnError_andStaysAsItIs() throws {
    let sample = try Sample()
    try makeNotes(sample)
    let file = URL(fileURLWithPath: sample.path)
    let before = try Data(contentsOf: file)
    let ran = tool("pause", sample.path, "mail")
    #expect(ran.status == 1)
    #expect(ran.output == "")
    #expect(ran.errors.contains(sample.path), "\(ran.errors)")
    #expect(try Data(contentsOf: file) == before)
  }

  /// A database without a queue.
  private func makeNotes(_ sample: Sample) throws {
    try sample.queue().transaction { db in
      let tables = try db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'durable%'")
      for table in tables {
        guard case .text(let name) = table[0] else { continue }
        try db.execute("DROP TABLE \(name)")
      }
      try db.execute("CREATE TABLE notes (text TEXT)")
    }
  }

  @Test func folder_isAnError() throws {
    let sample = try Sample()
    let ran = tool("list", sample.folder.path)
    #expect(ran.status == 1)
    #expect(ran.errors.contains("is a folder"))
  }

  @Test func damagedDatabase_isToldOf() throws {
    let sample = try Sample()
    try Data(("SQLite format 3\0" + String(repeating: "x", count: 4000)).utf8).write(
      to: URL(fileURLWithPath: sample.path))
    let ran = tool("stats", sample.path)
    #expect(ran.status == 1)
    #expect(ran.errors.contains("\(sample.path)"), "\(ran.errors)")
  }
}
