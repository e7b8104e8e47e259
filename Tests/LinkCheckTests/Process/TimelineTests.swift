#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct TimelineTests {
  @Test func timeline_whenAskedFor_isAPageOfAllThatRan() async throws {
    try await withServer { server in
      server.route("/flaky", .failing(1))
      let folder = try TemporaryFolder(["a.md": "[a](\(server.url("/flaky"))) [b](b.md)", "b.md": ""])
      let result = try await Tool.run("--retry-delay", "0", "--timeline", "run.html", ".", in: folder)
      #expect(result.status == 0)
      let page = try String(contentsOfFile: folder.path + "/run.html", encoding: .utf8)
      for name in ["Reading files", "b.md", "HEAD \(server.url("/flaky"))", "GET \(server.url("/flaky"))"] {
        #expect(page.contains(name), "\(name) is not in the page")
      }
    }
  }

  @Test func timeline_thatCannotBeWritten_exitsWithOneAndSaysWhy() async throws {
    let folder = try TemporaryFolder(["a.md": ""])
    let result = try await Tool.run("--timeline", "nowhere/run.html", "a.md", in: folder)
    #expect(result.status == 1)
    #expect(result.output == "0 links in 1 file: 0 good, 0 broken.\n")
    #expect(result.errors.contains("LinkCheck: The timeline could not be written to “"))
  }

  @Test func timeline_whereNobodyReadsTheReport_isWrittenToo() async throws {
    let folder = try TemporaryFolder(["a.md": "[b](b.md)"])
    let pipe = Pipe()
    try pipe.fileHandleForReading.close()
    let tool = try Tool(["--timeline", "run.html", "a.md"], in: folder, output: pipe.fileHandleForWriting)
    let result = try await tool.result()
    #expect(!result.wasKilled && result.status == 1)
    #expect(!result.errors.contains("LinkCheck:"), "\(result.errors)")
    #expect(FileManager.default.fileExists(atPath: folder.path + "/run.html"))
  }

  @Test func timeline_toTheOutput_comesBehindTheReport() async throws {
    let folder = try TemporaryFolder(["a.md": ""])
    let result = try await Tool.run("--timeline", "/dev/stdout", "a.md", in: folder)
    #expect(result.status == 0)
    #expect(result.output.hasPrefix("0 links in 1 file: 0 good, 0 broken.\n<!"), "\(result.output.prefix(80))")
  }

  @Test func timeline_afterAnInterrupt_isWrittenToo() async throws {
    try await withServer { server in
      server.route("/held", HTTPAnswer.ok().held(by: Gate()))
      let folder = try TemporaryFolder(["a.md": "[a](\(server.url("/held")))"])
      let tool = try Tool(["--timeline", "run.html", "a.md"], in: folder)
      await server.requests.wait(forCount: 1)
      tool.interrupt()
      #expect(try await tool.result().status == 130)
      #expect(FileManager.default.fileExists(atPath: folder.path + "/run.html"))
    }
  }
}
#endif
