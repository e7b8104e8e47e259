#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct UsageTests {
  @Test(arguments: [
    (["--fial", "1"], "--fial is not an option.", "Did you mean --fail?"),
    (["gone.jpg"], "gone.jpg does not exist.", "Check the spelling"),
    (["a.jpg", "sub"], "sub is a folder.", "Name the photos in it, for example: sub/*.jpg"),
    (["pipe"], "pipe is no regular file.", "Name a file with a photo in it."),
    ([""], "Photo 1 has an empty path.", "Name a file."),
    (["--", "--plain"], "--plain does not exist.", "Check the spelling"),
    (["--output", "sub"], "sub exists already.", "Remove it, or name another one with --output"),
    (["--output", "a.jpg"], "a.jpg exists already.", "Remove it, or name another one with --output"),
    (["--output", "nowhere"], "nowhere exists already.", "Remove it, or name another one with --output"),
    (
      ["--output", "gone/order"], "The folder gone/order cannot be made: No such file or directory.",
      "in an existing folder"
    ),
    (
      ["--output", "a.jpg/order"], "The folder a.jpg/order cannot be made: Not a directory.",
      "in an existing folder"
    ),
    (["--mermaid", "a.jpg"], "a.jpg exists already.", "name another one with --mermaid"),
    (["--mermaid", "gone/x.mmd"], "gone/x.mmd cannot be written: there is no folder", "Name a file with --mermaid"),
    (["--script", "gone"], "The script gone cannot be read: No such file or directory.", "PhotoOrder --help"),
    (["--script", "sub"], "The script sub is a folder.", "PhotoOrder --help"),
    (["--script", "binary"], "The script binary is no text in UTF-8.", "Save it as UTF-8."),
    (["--script", "bad"], "bad, line 2, \"fulfill Photo 3 Available\": there is no task", "Did you mean Photo"),
  ])
  func whatIsWrong_exitsWithTwo_saysWhatToDo_andLeavesNothing(
    _ arguments: [String], _ problem: String, _ remedy: String
  ) async throws {
    let folder = try TemporaryFolder([
      "a.jpg": "a", "sub/b.jpg": "b", "bad": "start all\nfulfill Photo 3 Available\n",
    ])
    try folder.write(Data([0x66, 0xFF, 0xFE]), to: "binary")
    mkfifo(folder.path + "/pipe", 0o600)
    try FileManager.default.createSymbolicLink(atPath: folder.path + "/nowhere", withDestinationPath: "gone")
    let before = try folder.list(".")
    let result = try await Program(arguments, in: folder).result()
    #expect(result.status == 2)
    #expect(result.output == "")
    #expect(result.errors.contains("PhotoOrder: " + problem), "\(result.errors)")
    #expect(result.errors.contains(remedy), "\(result.errors)")
    #expect(try folder.list(".") == before)
  }

  // Root may read and write everything.
  @Test(.enabled(if: getuid() != 0)) func protectedFiles_areToldOf() async throws {
    let folder = try TemporaryFolder(["a.jpg": "a", "sub/b.jpg": "b"])
    chmod(folder.path + "/a.jpg", 0)
    chmod(folder.path + "/sub", 0o555)
    let unreadable = try await Program.run("a.jpg", in: folder)
    #expect(unreadable.status == 2)
    #expect(unreadable.errors.contains("a.jpg cannot be read: Permission denied.\nMake it readable"))
    let unwritable = try await Program.run("--output", "sub/order", in: folder)
    #expect(unwritable.status == 2)
    #expect(unwritable.errors.contains("The folder sub/order cannot be made: Permission denied."))
    chmod(folder.path + "/sub", 0o755)
  }

  @Test(arguments: ["--help", "-h"])
  func help_printsEveryOptionCommandAndStatus(_ option: String) async throws {
    let folder = try TemporaryFolder()
    let result = try await Program.run(option, in: folder)
    #expect(result.status == 0)
    for word in [
      "--output", "--mermaid", "--title", "--script", "--fail", "--seed", "--sample-width", "--plain", "--help",
      "start",
      "fulfill", "reject", "cancel", "retry", "reset", "hold", "release", "wait", "show", "quit", "130",
    ] {
      #expect(result.output.contains(word))
    }
    #expect(result.lines.allSatisfy { $0.count <= 120 })
    #expect(try folder.list(".").isEmpty)
  }
}
#endif
