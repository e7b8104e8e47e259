import CompositeOperations
import Foundation
import HTTPOperations
import TestSupport
import Testing

@Suite("HTTP: downloads", .hangLimit) struct DownloadTests {
  @Test func file_isWhole_andItsFoldersAreMade() async throws {
    let folder = try TemporaryFolder()
    try await withServer { server in
      server.route("/", .large(byteCount: 3_000_001))
      let file = folder.file("a/b/file.bin")
      let response = try await HTTPOperation(request(server.url()), transfer: .download(to: file)).run()
      #expect(response.file == file && response.body.isEmpty && response.status == 200)
      let bytes = try Data(contentsOf: file)
      #expect(bytes.count == 3_000_001 && bytes.enumerated().allSatisfy { $1 == HTTPAnswer.largeByte($0) })
      let contents = try folder.contents()
      #expect(contents == ["a", "a/b", "a/b/file.bin"])
    }
  }

  @Test func emptyBody_makesAnEmptyFile() async throws {
    let folder = try TemporaryFolder()
    try await withServer { server in
      server.route("/", .status(200))
      try await HTTPOperation(request(server.url()), transfer: .download(to: folder.file("empty"))).run()
      #expect(folder.text(of: "empty") == "")
    }
  }

  @Test func file_isReplacedInOneStep_whenAllHasCome() async throws {
    let folder = try TemporaryFolder()
    try Data("old".utf8).write(to: folder.file("file"))
    try await withServer { server in
      let gate = Gate()
      server.route("/", .pieces([HTTPPiece("half "), HTTPPiece("whole").held(by: gate)], isChunked: false))
      let operation = HTTPOperation(request(server.url()), transfer: .download(to: folder.file("file")))
      let fractions = EventRecorder<Double>()
      let token = operation.addObserver { event in
        if let fraction = event.fractionCompleted { fractions.record(fraction) }
      }
      async let outcome = outcomeOfStarting(operation)
      await fractions.wait { $0.contains(0.5) }
      #expect(folder.text(of: "file") == "old")
      gate.open()
      #expect(await outcome.value?.file == folder.file("file"))
      #expect(folder.text(of: "file") == "half whole")
      let contents = try folder.contents()
      #expect(contents == ["file"])
      token.remove()
    }
  }

  @Test func refusedDownload_leavesTheFile_andHasTheBodyInTheError() async throws {
    let folder = try TemporaryFolder()
    try Data("old".utf8).write(to: folder.file("file"))
    try await withServer { server in
      server.route("/", .status(410, body: "no more"))
      let operation = HTTPOperation(request(server.url()), transfer: .download(to: folder.file("file")))
      let error = await outcomeOfStarting(operation).statusError
      #expect(error?.status == 410 && error?.body == Data("no more".utf8))
      #expect(folder.text(of: "file") == "old")
      let contents = try folder.contents()
      #expect(contents == ["file"])
    }
  }

  @Test func refusedDownload_keepsOneMebibyteAtMost() async throws {
    let folder = try TemporaryFolder()
    try await withServer { server in
      server.route("/", .status(500, bytes: [UInt8](repeating: 7, count: 3 << 20)))
      let operation = HTTPOperation(request(server.url()), transfer: .download(to: folder.file("file")))
      #expect(await outcomeOfStarting(operation).statusError?.body.count == 1 << 20)
      let contents = try folder.contents()
      #expect(contents.isEmpty)
    }
  }

  @Test func cutShort_leavesNothing() async throws {
    let folder = try TemporaryFolder()
    try await withServer(keepsConnections: false) { server in
      server.route("/", HTTPAnswer.large(byteCount: 1_000_000).cutShort(after: 400_000))
      let operation = HTTPOperation(request(server.url()), transfer: .download(to: folder.file("file")))
      #expect(await outcomeOfStarting(operation).httpError?.code == .truncatedBody)
      // A disk that is slow for a second removes it later.
      await until((try? folder.contents().isEmpty) == true)
      let contents = try folder.contents()
      #expect(contents.isEmpty)
    }
  }

  @Test func cancel_leavesNothing_andClosesTheConnection() async throws {
    let folder = try TemporaryFolder()
    try await withServer { server in
      let piece = HTTPPiece(String(repeating: "x", count: 1000))
      server.route("/", .pieces([piece, piece.held(by: Gate())], isChunked: false))
      let operation = HTTPOperation(request(server.url()), transfer: .download(to: folder.file("file")))
      let fractions = EventRecorder<Double>()
      let token = operation.addObserver { event in
        if let fraction = event.fractionCompleted { fractions.record(fraction) }
      }
      async let outcome = outcomeOfStarting(operation)
      await fractions.wait { $0.contains(0.5) }
      let contents = try folder.contents()
      #expect(contents.count == 1)
      operation.cancel()
      #expect(await outcome.isCancelled)
      await until((try? folder.contents().isEmpty) == true)
      let contentsAfter = try folder.contents()
      #expect(contentsAfter.isEmpty)
      await server.abandonedRequests.wait(forCount: 1)
      token.remove()
    }
  }

  @Test func placeThatCannotBeWritten_isAnError_andNothingGoesOn() async throws {
    let folder = try TemporaryFolder()
    try Data().write(to: folder.file("file"))
    try FileManager.default.createDirectory(at: folder.file("folder/inner"), withIntermediateDirectories: true)
    try await withServer { server in
      server.route("/small", .ok())
      server.route("/endless", .pieces([HTTPPiece("x"), HTTPPiece("y").held(by: Gate())]))
      for (path, place) in [("/small", "file/below"), ("/small", "folder"), ("/endless", "file/below")] {
        let operation = HTTPOperation(request(server.url(path)), transfer: .download(to: folder.file(place)))
        let error = await outcomeOfStarting(operation).httpError
        #expect(error?.code == .unwritableFile && error?.url == folder.file(place), "\(place)")
      }
      await server.abandonedRequests.wait(forCount: 1)
      let contents = try folder.contents()
      #expect(contents == ["file", "folder", "folder/inner"])
    }
  }
}
