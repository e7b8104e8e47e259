#if os(Linux)
import CompositeOperations
import Foundation
import FoundationNetworking
import TestSupport
import Testing

@testable import HTTPOperations

/// Slow disks, and slow streams of the caller: other requests do not wait for them.
@Suite("HTTP: slow disks and streams", .hangLimit) struct SlowDiskTests {
  private let session = URLSession(configuration: .ephemeral)

  private func expectOthersToGoOn(_ server: HTTPServer) async throws {
    server.route("/other", .ok("other"))
    let answer = try await HTTPOperation(request(server.url("/other")), session: session).run()
    #expect(answer.text == "other")
  }

  // MARK: - Uploads

  /// Has some bytes, and blocks before them.
  private final class SlowStream: InputStream {
    private let gate: Gate
    private let log: EventRecorder<String>
    private let rest: Locked<[UInt8]>

    init(_ bytes: [UInt8], behind gate: Gate, log: EventRecorder<String>) {
      self.gate = gate
      self.log = log
      rest = Locked(bytes)
      super.init(data: Data())
    }

    override var streamStatus: Stream.Status { .open }
    override func open() {}
    override func close() { log.record("close") }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
      log.record("read")
      gate.waitBlocking()
      return rest.withLock { rest in
        let part = rest.prefix(maxLength)
        rest.removeFirst(part.count)
        buffer.update(from: Array(part), count: part.count)
        return part.count
      }
    }
  }

  private func upload(_ server: HTTPServer, _ stream: InputStream, count: Int) -> HTTPOperation {
    let request = request(server.url("/upload"), "PUT") {
      $0.httpBodyStream = stream
      $0.setValue("\(count)", forHTTPHeaderField: "Content-Length")
    }
    return HTTPOperation(request, session: session)
  }

  @Test func stream_thatBlocks_delaysNoOtherRequest() async throws {
    try await withServer { server in
      server.route("/upload", .echo)
      let gate = Gate(), log = EventRecorder<String>()
      let bytes = (0..<1_000_000).map(HTTPAnswer.largeByte)
      async let outcome = outcomeOfStarting(
        upload(server, SlowStream(bytes, behind: gate, log: log), count: bytes.count))
      await log.wait(for: "read")
      try await expectOthersToGoOn(server)
      gate.open()
      #expect(await outcome.value?.body == Data(bytes))
    }
  }

  @Test func stream_thatBlocks_isClosed_andHoldsUpNoCancel() async throws {
    try await withServer { server in
      let gate = Gate(), log = EventRecorder<String>()
      let operation = upload(server, SlowStream([1], behind: gate, log: log), count: 1)
      async let outcome = outcomeOfStarting(operation)
      await log.wait(for: "read")
      operation.cancel()
      #expect(await outcome.isCancelled)
      // Not while it is being read.
      #expect(!log.contains("close"))
      gate.open()
      await log.wait(for: "close")
    }
  }

  /// The server answers upon the header. A connection that it keeps, and one that it closes.
  @Test(arguments: [true, false]) func answer_thatComesWhileAStreamBlocks_endsTheRequest(_ isKept: Bool) async throws {
    try await withServer(keepsConnections: isKept, readsBodies: false) { server in
      let answer = Gate()
      server.route("/upload", HTTPAnswer.status(413, body: "too much").held(by: answer))
      let gate = Gate(), log = EventRecorder<String>()
      async let outcome = outcomeOfStarting(
        upload(server, SlowStream([1], behind: gate, log: log), count: 1))
      await log.wait(for: "read")
      await server.requests.wait(forCount: 1)
      // Meanwhile the body is asked for, and is not there.
      try await expectOthersToGoOn(server)
      answer.open()
      let error = await outcome.statusError
      #expect(error?.status == 413 && error.map { String(decoding: $0.body, as: UTF8.self) } == "too much")
      gate.open()
      await log.wait(for: "close")
    }
  }

  /// The answer begins while the stream blocks, and the rest of it comes with the rest of the
  /// stream.
  @Test func answer_thatIsASuccess_leavesABlockedStreamToGoOn() async throws {
    try await withServer(readsBodies: false) { server in
      let end = Gate()
      server.route(
        "/upload", .pieces([HTTPPiece("one"), HTTPPiece("two").held(by: end)], isChunked: false))
      let gate = Gate(), log = EventRecorder<String>()
      let operation = upload(server, SlowStream([1], behind: gate, log: log), count: 1)
      let begun = Gate()
      let token = operation.addObserver { if $0.fractionCompleted != nil { begun.open() } }
      async let outcome = outcomeOfStarting(operation)
      await begun.wait()
      gate.open()
      end.open()
      #expect(await outcome.value?.text == "onetwo")
      token.remove()
    }
  }

  // MARK: - Downloads

  private func download(
    _ url: String, to file: URL, _ open: @escaping @Sendable (URL) throws -> FileHandle
  ) -> HTTPOperation {
    HTTPOperation(
      request(url), transfer: .download(to: file), session: session, acceptedStatuses: 200..<300, maxRedirects: 0,
      headers: [:], options: HTTPOptions(), keeping: nil, opening: open)
  }

  /// The bytes go into a pipe, which takes some and no more until they are read.
  @Test func file_thatBlocks_delaysNoOtherRequest_andMakesTheServerWait() async throws {
    let folder = try TemporaryFolder()
    try await withServer { server in
      let count = 16 << 20
      server.route("/", .large(byteCount: count))
      let pipe = Pipe()
      let operation = download(server.url(), to: folder.file("file")) { _ in pipe.fileHandleForWriting }
      let begun = Gate()
      let token = operation.addObserver { if $0.fractionCompleted != nil { begun.open() } }
      async let outcome = outcomeOfStarting(operation)
      await begun.wait()
      try await expectOthersToGoOn(server)
      // The server has not got rid of it.
      #expect(server.running == 1 && operation.outcome == nil)
      let written = await onWorker { (try? pipe.fileHandleForReading.readToEnd()) ?? Data() }
      #expect(written.count == count)
      #expect(stride(from: 0, to: written.count, by: 4_093).allSatisfy { written[$0] == HTTPAnswer.largeByte($0) })
      #expect(await outcome.value?.file == folder.file("file"))
      token.remove()
    }
  }

  @Test func file_thatBlocks_holdsUpNoCancel_andIsGone() async throws {
    let folder = try TemporaryFolder()
    try await withServer { server in
      server.route("/", .large(byteCount: 1 << 20))
      let pipe = Pipe()
      let operation = download(server.url(), to: folder.file("file")) { _ in pipe.fileHandleForWriting }
      async let outcome = outcomeOfStarting(operation)
      // The first bytes are in the pipe, and fewer of the rest than come fit.
      let first = await onWorker { pipe.fileHandleForReading.availableData }
      #expect(first.first == HTTPAnswer.largeByte(0))
      operation.cancel()
      #expect(await outcome.isCancelled)
      await untilEmpty(folder)
      // It is closed when the disk has done what it was at.
      let rest = await onWorker { (try? pipe.fileHandleForReading.readToEnd()) ?? Data() }
      #expect(first.count + rest.count < 1 << 20)
    }
  }

  @Test func file_thatIsSlowToOpen_delaysNoOtherRequest_andNoCancel() async throws {
    let folder = try TemporaryFolder()
    try await withServer { server in
      server.route("/", .large(byteCount: 1 << 20))
      let gate = Gate(), opened = Gate(), begun = Gate()
      let operation = download(server.url(), to: folder.file("file")) { place in
        begun.open()
        gate.waitBlocking()
        defer { opened.open() }
        return try FileHandle(forWritingTo: place)
      }
      async let outcome = outcomeOfStarting(operation)
      await begun.wait()
      try await expectOthersToGoOn(server)
      operation.cancel()
      #expect(await outcome.isCancelled)
      // Now the file comes, and is not wanted.
      gate.open()
      await opened.wait()
      await untilEmpty(folder)
    }
  }

  /// Waits for a file to be removed, of which nothing tells.
  private func untilEmpty(_ folder: TemporaryFolder) async {
    await until((try? folder.contents().isEmpty) == true)
  }
}
#endif
