#if os(macOS) || os(Linux)
import Foundation
import Testing

@Suite(.timeLimit(.minutes(30))) struct UsageTests {
  @Test(arguments: [
    ([], "No file or folder to check was given.", "LinkCheck README.md Documentation"),
    (["--width"], "--width needs a value.", "--width 8"),
    (["--width", "0", "a.md"], "--width cannot be “0”.", "from 1 to 1000"),
    (["--width", "-1", "a.md"], "--width cannot be “-1”.", "from 1 to 1000"),
    (["--width=many", "a.md"], "--width cannot be “many”.", "whole number"),
    (["--per-host", "1.5", "a.md"], "--per-host cannot be “1.5”.", "whole number"),
    (["--timeout", "soon", "a.md"], "--timeout cannot be “soon”.", "Give seconds"),
    (["--timeout", "0", "a.md"], "--timeout cannot be “0”.", "from 0.01 to 3600"),
    (["--timeout", "nan", "a.md"], "--timeout cannot be “nan”.", "Give seconds"),
    (["--retries", "-2", "a.md"], "--retries cannot be “-2”.", "from 0 to 20"),
    (["--retries", "--json", "a.md"], "--retries needs a value.", "--retries 2"),
    (["--retry-delay", "x", "a.md"], "--retry-delay cannot be “x”.", "from 0 to 60"),
    (["--json=yes", "a.md"], "--json takes no value", "Write --json alone."),
    (["--ofline", "a.md"], "--ofline is not an option.", "Did you mean --offline?"),
    (["-x", "a.md"], "-x is not an option.", "LinkCheck --help"),
    (["--root", "gone", "a.md"], "--root gone is not a folder.", "existing folder"),
    (["--root", "sub", "a.md"], "a.md lies outside the root folder sub.", "--root that contains"),
    (["gone.md"], "gone.md does not exist.", "Check the spelling"),
    (["a.md", "gone"], "gone does not exist.", "Check the spelling"),
    (["--", "--json"], "--json does not exist.", "Check the spelling"),
    (["a.md", ""], "One of the paths is empty.", ". for the current folder"),
    (["a.txt"], "a.txt is neither a Markdown (.md, .markdown) nor an HTML", "Name such a file"),
    (["sub"], "There is no Markdown (.md, .markdown) or HTML (.html, .htm) file in sub.", "Name another folder"),
  ])
  func commandLine_thatIsWrong_exitsWithTwoAndSaysWhatToDo(
    _ arguments: [String], _ problem: String, _ remedy: String
  ) async throws {
    let folder = try TemporaryFolder(["a.md": "", "a.txt": "", "sub/b.txt": ""])
    let result = try await Tool(arguments, in: folder).result()
    #expect(result.status == 2)
    #expect(result.output.isEmpty)
    #expect(result.errors.contains("LinkCheck: " + problem), "\(result.errors)")
    #expect(result.errors.contains(remedy), "\(result.errors)")
  }

  @Test(arguments: ["--help", "-h"])
  func help_printsEveryOptionAndExitsWithZero(_ option: String) async throws {
    let result = try await Tool.run(option, in: try TemporaryFolder())
    #expect(result.status == 0)
    for name in [
      "--offline", "--strict", "--json", "--width", "--per-host", "--timeout", "--retries", "--retry-delay", "--root",
      "--help", "130",
    ] {
      #expect(result.output.contains(name))
    }
    #expect(result.output.split(separator: "\n").allSatisfy { $0.count <= 120 })
  }

  @Test func pathAfterTwoDashes_mayBeginWithADash() async throws {
    let folder = try TemporaryFolder(["-a.md": "[b](b.md)"])
    #expect(try await Tool.run("--json", "--", "-a.md", in: folder).report().broken.map(\.file) == ["-a.md"])
  }

  @Test func output_carriesTheReportOnly() async throws {
    let folder = try TemporaryFolder(["a.md": "[b](b.md)", "b.md": ""])
    let result = try await Tool.run("--json", ".", in: folder)
    #expect(result.output.hasPrefix("{") && result.output.hasSuffix("}\n"))
    let lines = result.errors.split(separator: "\n")
    #expect(lines.last?.dropFirst(2).hasPrefix("Reading files (") == true, "\(result.errors)")
    // Where it takes long, it is told how far it is.
    #expect(lines.dropLast().allSatisfy { $0.hasPrefix("Reading files:") }, "\(result.errors)")
  }

  #if os(Linux)
  @Test func output_thatCannotBeWritten_exitsWithOneAndSaysWhy() async throws {
    let folder = try TemporaryFolder(["a.md": ""])
    let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
    let result = try await Tool(["a.md"], in: folder, output: full).result()
    #expect(!result.wasKilled && result.status == 1)
    #expect(
      result.errors.contains("LinkCheck: The output cannot be written (No space left on device)."), "\(result.errors)")
  }
  #endif
}
#endif
