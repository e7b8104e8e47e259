#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct OutputTests {
  @Test func files_whereNobodyReadsTheOutput_areWrittenToo() async throws {
    let pipe = Pipe()
    try pipe.fileHandleForReading.close()
    let program = try Program(
      ["--images", "1", "--text", "--html", "page.html", "--trace", "trace.json"], output: pipe.fileHandleForWriting)
    let (status, wasKilled) = try await program.end()
    #expect(!wasKilled && status == 0)
    #expect(try program.files().sorted() == ["page.html", "trace.json"])
  }

  #if os(Linux)
  @Test(arguments: [["--images", "1", "--text"], ["--images", "1"], ["--help"]])
  func output_thatCannotBeWritten_exitsWithOne(_ arguments: [String]) async throws {
    let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
    let (status, wasKilled) = try await Program(arguments, output: full).end()
    #expect(!wasKilled && status == 1)
  }
  #endif
}
#endif
