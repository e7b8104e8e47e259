#if os(macOS) || os(Linux)
import ExampleSupport
import Foundation
import TestSupport
import Testing

@testable import PhotoOrder

/// Orders that run to their end.
@Suite(.timeLimit(.minutes(30))) struct OrderTests {
  @Test func photos_areCopiedAndChecked_andTheOrderIsWritten() async throws {
    let folder = try TestPhoto.folder()
    let result = try await Program.run(
      "--output", "order", "--title", "Our \"summer\"", "a.jpg", "in/b.jpg", in: folder)
    #expect(result.status == 0)
    #expect(result.errors == "")
    #expect(
      try folder.list("order")
        == ["SHA256SUMS", "order.json", "order.mmd", "photos", "project.json"])
    #expect(try folder.list("order/photos") == ["1-a.jpg", "2-b.jpg"])
    #expect(try folder.read("order/photos/1-a.jpg") == TestPhoto.first)
    #expect(try folder.read("order/photos/2-b.jpg") == TestPhoto.second)
    let sums = [SHA256.hex(of: TestPhoto.first), SHA256.hex(of: TestPhoto.second)]
    #expect(try folder.text("order/SHA256SUMS") == "\(sums[0])  photos/1-a.jpg\n\(sums[1])  photos/2-b.jpg\n")
    let receipt = try JSONDecoder().decode(Receipt.self, from: try folder.read("order/order.json"))
    #expect(receipt.title == "Our \"summer\"")
    #expect(receipt.photos.map(\.bytes) == [TestPhoto.first.count, TestPhoto.second.count])
    #expect(receipt.photos.map(\.sha256) == sums)
    let project = try JSONDecoder().decode(Project.self, from: try folder.read("order/project.json"))
    #expect(project == Project(title: "Our \"summer\"", folder: "order"))
  }

  @Test func order_whereNobodyReadsTheOutput_isWrittenToo() async throws {
    let folder = try TestPhoto.folder()
    let pipe = Pipe()
    try pipe.fileHandleForReading.close()
    let program = try Program(["--output", "order", "a.jpg"], in: folder, output: pipe.fileHandleForWriting)
    let result = try await program.result()
    #expect(!result.wasKilled && result.status == 0)
    #expect(result.errors == "")
    #expect(try folder.list("order") == ["SHA256SUMS", "order.json", "order.mmd", "photos", "project.json"])
  }

  #if os(Linux)
  @Test func output_thatCannotBeWritten_exitsWithOneAndSaysWhy() async throws {
    let folder = try TestPhoto.folder()
    let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
    let result = try await Program(["--output", "order", "a.jpg"], in: folder, output: full).result()
    #expect(result.status == 1)
    #expect(
      result.errors
        == "PhotoOrder: The output cannot be written (No space left on device). Check where it goes.\n")
    #expect(folder.exists("order/order.json"))
  }
  #endif

  @Test func namesOfPhotos_areToldWithMarksForWhatATerminalWouldObey() async throws {
    let folder = try TemporaryFolder()
    let name = "a\u{1B}[2J\u{9B}31m.jpg"
    try folder.write(TestPhoto.second, to: name)
    try folder.write(Data("start all\nfulfill all\nwait\nshow\n".utf8), to: "order.script")
    let result = try await Program(["--output", "order", "--script", "order.script", name], in: folder).result()
    #expect(result.status == 0)
    #expect(result.output.contains("a\u{FFFD}[2J\u{FFFD}31m.jpg"))
    let missing = try await Program(["gone\u{1B}[2J.jpg"], in: folder).result()
    #expect(missing.errors.hasPrefix("PhotoOrder: gone\u{FFFD}[2J.jpg does not exist."), "\(missing.errors)")
    #expect(missing.errors.split(separator: "\n").count == 2)
    #expect(![result.output, result.errors, missing.errors].contains { $0.contains(/[\u{1B}\u{9B}]/) })
  }

  @Test func whatHappens_isToldInOrder() async throws {
    let result = try await Program.run(in: try TemporaryFolder())
    #expect(result.status == 0)
    #expect(result.output.hasPrefix("No photos were given: these are made up. photo-order/samples/sample-1.ppm,"))
    #expect(
      result.lines.contains("No terminal for keys: every condition is fulfilled. --script FILE gives other commands."))
    #expect(
      result.has(
        "> start all", "Photo Order: started", "Create Project: started", "Create Project: finished",
        "Upload Photo 1: started", "Upload Photo 1: finished", "Submit Order: started", "Submit Order: finished",
        "Photo Order: every task has finished", "Ordered: 2 photos with 7226 bytes, on paper: glossy, 10 x 15 cm",
        "Run 1 finished: 7 attempts, 7 finished, 0 failed, 0 cancelled",
        "The graph is in photo-order/order.mmd"))
    #expect(!result.output.contains("\u{1B}"))
  }

  @Test func samples_arePictures_andAreOrdered() async throws {
    let folder = try TemporaryFolder()
    #expect(try await Program.run("--sample-width", "8", in: folder).status == 0)
    for number in 1...2 {
      let sample = try folder.read("photo-order/samples/sample-\(number).ppm")
      #expect(sample.starts(with: Data("P6\n8 6\n255\n".utf8)))
      #expect(sample.count == 11 + 8 * 6 * 3)
      #expect(try folder.read("photo-order/photos/\(number)-sample-\(number).ppm") == sample)
    }
  }

  @Test func graph_isDrawnWithStates() async throws {
    let folder = try TestPhoto.folder()
    #expect(try await Program.run("--mermaid", "graph.mmd", "a.jpg", "in/b.jpg", in: folder).status == 0)
    #expect(!folder.exists("photo-order/order.mmd"))
    let lines = try folder.text("graph.mmd").split(separator: "\n").map { $0.drop { $0 == " " } }
    #expect(
      lines.prefix { !$0.hasPrefix("classDef") } == [
        "flowchart TD", "t1[\"Create Project\"]:::finished", "t2{{\"Photo 1 Available\"}}:::finished",
        "t3[\"Upload Photo 1\"]:::finished", "t4{{\"Photo 2 Available\"}}:::finished",
        "t5[\"Upload Photo 2\"]:::finished", "t6{{\"Metadata Available\"}}:::finished",
        "t7[\"Submit Order\"]:::finished", "t1 --> t3", "t2 --> t3", "t1 --> t5", "t4 --> t5",
        "t6 -->|\"metadata\"| t7", "t3 --> t7", "t5 --> t7",
      ])
  }

  @Test func nineEqualPhotos_haveCopiesOfTheirOwn() async throws {
    let folder = try TestPhoto.folder()
    let photos = Array(repeating: "a.jpg", count: 9)
    let result = try await Program(photos, in: folder).result()
    #expect(result.status == 0)
    #expect(try folder.list("photo-order/photos") == (1...9).map { "\($0)-a.jpg" })
    #expect(result.lines.contains("Run 1 finished: 21 attempts, 21 finished, 0 failed, 0 cancelled"))
  }

  @Test func emptyPhoto_isOrdered() async throws {
    let folder = try TemporaryFolder(["empty.jpg": ""])
    #expect(try await Program.run("empty.jpg", in: folder).status == 0)
    #expect(try folder.text("photo-order/SHA256SUMS") == "\(SHA256.hex(of: []))  photos/1-empty.jpg\n")
  }
}
#endif
