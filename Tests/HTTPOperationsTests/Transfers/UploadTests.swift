import CompositeOperations
import Foundation
import HTTPOperations
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("HTTP: uploads", .hangLimit) struct UploadTests {
  @Test(arguments: [0, 1, 70_000, 3_000_000])
  func bytes_arrive(_ count: Int) async throws {
    try await withServer { server in
      server.route("/", .echo)
      let bytes = Data((0..<count).map(HTTPAnswer.largeByte))
      let response = try await HTTPOperation(request(server.url(), "PUT"), transfer: .upload(.data(bytes))).run()
      #expect(server.requests.events.first?.body == Array(bytes))
      #expect(response.body == bytes && response.headers["X-Method"] == "PUT")
    }
  }

  @Test(arguments: [0, 1, 70_000, 3_000_000])
  func files_arrive(_ count: Int) async throws {
    let folder = try TemporaryFolder()
    let bytes = Data((0..<count).map(HTTPAnswer.largeByte))
    try bytes.write(to: folder.file("upload"))
    try await withServer { server in
      server.route("/", .echo)
      let operation = HTTPOperation(request(server.url(), "POST"), transfer: .upload(.file(folder.file("upload"))))
      let response = try await operation.run()
      #expect(server.requests.events.first?.body == Array(bytes))
      #expect(response.body == bytes && response.headers["X-Method"] == "POST")
    }
  }

  @Test func progress_followsWhatIsSent() async throws {
    try await withServer { server in
      let gate = Gate()
      server.route("/", HTTPAnswer.ok().held(by: gate))
      let operation = HTTPOperation(
        request(server.url(), "PUT"), transfer: .upload(.data(Data(count: 1_000_000))))
      let fractions = EventRecorder<Double>()
      let token = operation.addObserver { event in
        if let fraction = event.fractionCompleted { fractions.record(fraction) }
      }
      async let outcome = outcomeOfStarting(operation)
      // Everything was sent, and nothing answered.
      await fractions.wait { $0.last == 1 }
      #expect(operation.outcome == nil)
      gate.open()
      #expect(await outcome.value?.status == 200)
      #expect(fractions.events == fractions.events.sorted())
      token.remove()
    }
  }

  @Test(arguments: [true, false])
  func body_isSentWhole_whenAKeptConnectionWasClosed(_ isUpload: Bool) async throws {
    try await withServer { server in
      // The first request on a connection is answered; the second, on the same one, finds it
      // closed.
      server.route("/first", .ok())
      server.route("/second", HTTPRoute { $0.number == 1 ? .drop : .status(200, bytes: $0.body) })
      try await HTTPOperation(request(server.url("/first"))).run()
      let bytes = Data((0..<100_000).map(HTTPAnswer.largeByte))
      let operation =
        isUpload
        ? HTTPOperation(request(server.url("/second"), "PUT"), transfer: .upload(.data(bytes)))
        : HTTPOperation(request(server.url("/second"), "PUT") { $0.httpBody = bytes })
      let outcome = await outcomeOfStarting(operation)
      // Whether it is asked again is for the session to say.
      #expect(outcome.value.map { $0.body == bytes } ?? (outcome.httpError?.code == .connectionLost))
    }
  }

  @Test func missingFile_isAnError() async throws {
    let folder = try TemporaryFolder()
    for file in [folder.file("none"), folder.url, URL(string: "http://host/file")!] {
      let outcome = await outcomeOfStarting(
        HTTPOperation(request("http://127.0.0.1:1/", "PUT"), transfer: .upload(.file(file))))
      #expect(outcome.httpError?.code == .unreadableFile && outcome.httpError?.url == file)
    }
  }

  @Test(arguments: ["GET", "HEAD"])
  func methodsWithoutBody_areRefused(_ method: String) async throws {
    let outcome = await outcomeOfStarting(
      HTTPOperation(request("http://127.0.0.1:1/", method), transfer: .upload(.data(Data("x".utf8)))))
    #expect(outcome.httpError?.code == .invalidRequest)
    #expect(outcome.httpError?.description.contains("its method is \(method)") == true)
  }

  @Test func stream_isSentAsFarAsItsLength() async throws {
    try await withServer { server in
      server.route("/", .echo)
      let request = request(server.url(), "PUT") {
        $0.httpBodyStream = InputStream(data: Data("1234567".utf8))
        $0.setValue("5", forHTTPHeaderField: "Content-Length")
      }
      let answer = try await HTTPOperation(request).run()
      #expect(answer.text == "12345")
    }
  }

  /// The server would wait for the rest.
  @Test func stream_thatIsShorterThanItsLength_isAnError() async throws {
    try await withServer { server in
      server.route("/", .echo)
      let request = request(server.url(), "PUT") {
        $0.httpBodyStream = InputStream(data: Data("123".utf8))
        $0.setValue("5", forHTTPHeaderField: "Content-Length")
      }
      let error = try #require(await outcomeOfStarting(HTTPOperation(request)).httpError)
      #expect(
        error.code == .unreadableFile && "\(error)".contains("gave 3 bytes, but the Content-Length is 5"), "\(error)")
    }
  }

  #if os(Linux)
  /// Nobody has read it: what is wrong with it says more.
  @Test func stream_thatCouldNotBeOpened_isUnreadable_alsoWhenItIsMadeAgain() async throws {
    try await withServer { server in
      server.route("/", .echo)
      let stream = try #require(InputStream(fileAtPath: "/there/is/none"))
      let request = request(server.url(), "PUT") { $0.httpBodyStream = stream }
      for _ in 0..<2 {
        let error = try #require(await outcomeOfStarting(HTTPOperation(request)).httpError)
        #expect(error.code == .unreadableFile, "\(error)")
      }
    }
  }
  #endif

  @Test func link_isUploadedAsTheFileThatItLeadsTo() async throws {
    try await withServer { server in
      server.route("/", .echo)
      let folder = try TemporaryFolder()
      let text = String(repeating: "much longer than the name of the file. ", count: 100)
      try text.write(to: folder.file("file"), atomically: true, encoding: .utf8)
      try FileManager.default.createSymbolicLink(
        atPath: folder.file("link").path, withDestinationPath: folder.file("file").path)
      let upload = HTTPOperation(
        request(server.url(), "POST"), transfer: .upload(.file(folder.file("link"))))
      let response = try await upload.run()
      #expect(response.text == text)
    }
  }

  @Test(arguments: [TimeInterval.infinity, .greatestFiniteMagnitude])
  func timeouts_thatAreEndless_areTaken(_ timeout: TimeInterval) async throws {
    try await withServer { server in
      server.route("/", .ok("here"))
      let endless = request(server.url()) { $0.timeoutInterval = timeout }
      let configuration = URLSessionConfiguration.ephemeral
      configuration.timeoutIntervalForRequest = timeout
      let operation = HTTPOperation(endless, session: URLSession(configuration: configuration))
      let response = try await operation.run()
      #expect(response.text == "here")
    }
  }

  @Test func get_withABody_isNotMade() async throws {
    let operation = HTTPOperation(request("http://127.0.0.1:1/") { $0.httpBody = Data("body".utf8) })
    let error = await outcomeOfStarting(operation).httpError
    #expect(error?.code == .invalidRequest)
    #expect(error?.description.contains("GET") == true)
  }

  @Test func device_isNotUploaded() async throws {
    let operation = HTTPOperation(
      request("http://127.0.0.1:1/", "POST"), transfer: .upload(.file(URL(fileURLWithPath: "/dev/null"))))
    #expect(await outcomeOfStarting(operation).httpError?.code == .unreadableFile)
  }
}
