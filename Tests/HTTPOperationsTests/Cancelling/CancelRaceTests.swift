import CompositeOperations
import Foundation
import HTTPOperations
import TestSupport
import Testing

/// Cancels at every moment of a request: each operation settles once, leaves no file, and its
/// connection is closed.
@Suite("HTTP: races of cancelling", .hangLimit) struct CancelRaceTests {
  private static let rounds = Scale.count(200) + 10

  private enum Kind: CaseIterable {
    case data, redirect, upload, uploadOfFile, download, unauthorized
  }

  @Test func cancel_atAnyMoment_settlesOnce() async throws {
    let folder = try TemporaryFolder()
    try Data(count: 300_000).write(to: folder.file("upload"))
    try await withServer { server in
      server.route("/data", .large(byteCount: 300_000))
      server.route("/redirect", .redirect(to: "/data"))
      server.route("/upload", .echo)
      server.route("/401", .status(401, headers: [("WWW-Authenticate", "Basic realm=\"x\"")], body: "who?"))
      var random = SeededRandomNumberGenerator(seed: 5)
      var operations: [HTTPOperation] = []
      let settled = EventRecorder<Int>()
      for round in 0..<Self.rounds {
        let kind = Kind.allCases.randomElement(using: &random)!
        let operation =
          switch kind {
          case .data: HTTPOperation(request(server.url("/data")))
          case .redirect: HTTPOperation(request(server.url("/redirect")))
          case .unauthorized: HTTPOperation(request(server.url("/401")))
          case .upload:
            HTTPOperation(request(server.url("/upload"), "PUT"), transfer: .upload(.data(Data(count: 300_000))))
          case .uploadOfFile:
            HTTPOperation(request(server.url("/upload"), "PUT"), transfer: .upload(.file(folder.file("upload"))))
          case .download:
            HTTPOperation(request(server.url("/data")), transfer: .download(to: folder.file("out/\(round)")))
          }
        operation.completion = { _ in settled.record(round) }
        operations.append(operation)
        let delay = Int.random(in: 0..<8, using: &random)
        let start = DispatchTime.now()
        DispatchQueue.global().async { operation.start() }
        DispatchQueue.global().asyncAfter(deadline: start + .milliseconds(delay)) { operation.cancel() }
        // Not all at once: that would have most of them wait for a connection when the cancel
        // comes.
        if round % 6 == 5 { await settled.wait(forCount: round - 4) }
      }
      await settled.wait(forCount: Self.rounds)
      #expect(settled.events.sorted() == Array(0..<Self.rounds))
      for operation in operations {
        switch operation.outcome {
        case .success(let response):
          #expect(response.file == nil || (try? Data(contentsOf: response.file!))?.count == 300_000)
        case .failure(let error): #expect((error as? HTTPStatusError)?.status == 401)
        // The move of a whole file is not stopped.
        case .cancelled: break
        case nil: Issue.record("has not settled")
        }
      }
      // A disk that is slow for a second removes it later.
      await until((try? folder.contents().contains { $0.hasSuffix(".part") }) == false)
      let contents = try folder.contents()
      #expect(!contents.contains { $0.hasSuffix(".part") })
    }
  }
}
