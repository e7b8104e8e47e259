import CompositeOperations
import Foundation
import HTTPOperations
import ManagedOperations
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A request to an address.
func request(_ url: String, _ method: String = "GET", token: String? = nil) -> URLRequest {
  var request = URLRequest(url: URL(string: url)!)
  request.httpMethod = method
  // A busy machine may let a test wait for minutes. It is the test that ends a request, not the
  // time.
  request.timeoutInterval = 3_600
  if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
  return request
}

@Suite("HTTPManager", .timeLimit(.minutes(30))) struct HTTPManagerTests {
  private struct Forecast: Codable, Equatable {
    var city: String
    var degrees: Int
  }

  @Test func data_upload_download_andDecode() async throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("HTTPManagerTests-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: file) }
    try await withServer { server in
      server.route("/echo", .echo)
      server.route("/page", .ok("hello"))
      server.route("/forecast", .ok(#"{"city": "Paris", "degrees": 21}"#))
      let http = HTTPManager(clock: ManualClock())
      let answer = try await http.data(for: request(server.url("/page")))
      #expect(answer.body == Data("hello".utf8))
      let echoed = try await http.upload(for: request(server.url("/echo"), "PUT"), from: .data(Data("body".utf8)))
      #expect(echoed.body == Data("body".utf8))
      let downloaded = try await http.download(for: request(server.url("/page")), to: file)
      #expect(downloaded.file == file && downloaded.body.isEmpty)
      let written = try Data(contentsOf: file)
      #expect(written == Data("hello".utf8))
      let forecast = try await http.decode(Forecast.self, for: request(server.url("/forecast")))
      #expect(forecast == Forecast(city: "Paris", degrees: 21))
      await #expect(throws: DecodingError.self) {
        try await http.decode(Forecast.self, for: request(server.url("/page")))
      }
      await #expect(throws: HTTPStatusError.self) { try await http.data(for: request(server.url("/none"))) }
      await http.operations.waitUntilIdle()
    }
  }

  @Test func handles_startWhenTold_andCompose() async throws {
    try await withServer { server in
      server.route("/a", .ok("a"))
      server.route("/b", .ok("b"))
      let http = HTTPManager(clock: ManualClock())
      let first = http.operations.add(HTTPTask(request(server.url("/a"))), startImmediately: false)
      let second = http.operations.add(HTTPTask(request(server.url("/b"))), startImmediately: false)
      #expect(first.state == .pending && first.id != second.id)
      let bodies = try await zip(first.map(\.body), second.map(\.body)).run()
      #expect(bodies.0 == Data("a".utf8) && bodies.1 == Data("b".utf8))
    }
  }

  @Test func interceptor_changesWhatIsSent() async throws {
    try await withServer { server in
      server.route("/right", .ok())
      let http = HTTPManager(
        interceptors: [
          .headers(["X-Color": "red", "X-Size": "1"]),
          .headers(where: { $0.httpMethod == "PUT" }) { _ in ["X-Size": "2"] },
          .intercepting(HTTPTask.self) { task, _ in
            task.request.url = URL(string: server.url("/right"))
            return .execute
          },
        ], clock: ManualClock())
      _ = try await http.data(for: request(server.url("/wrong")))
      var put = HTTPTask(request(server.url("/wrong"), "PUT"))
      put.request.setValue("mine", forHTTPHeaderField: "x-color")
      try await http.operations.run(put)
      let sent = server.requests.events
      #expect(sent.map(\.path) == ["/right", "/right"])
      #expect(sent.map { $0.headers["x-size"] } == ["1", "2"] && sent.map { $0.headers["x-color"] } == ["red", "red"])
    }
  }

  @Test func cancel_ofHandleOrTask_closesTheConnection() async throws {
    try await withServer { server in
      server.route("/", HTTPAnswer.ok().held(by: Gate()))
      let http = HTTPManager(clock: ManualClock())
      let handle = http.operations.add(HTTPTask(request(server.url())))
      await server.requests.wait(forCount: 1)
      handle.cancel()
      handle.cancel()
      #expect(await settled(handle).isCancelled)
      await server.abandonedRequests.wait(forCount: 1)
      let task = Task { try await http.data(for: request(server.url())) }
      await server.requests.wait(forCount: 2)
      task.cancel()
      await #expect(throws: CancellationError.self) { _ = try await task.value }
      await server.abandonedRequests.wait(forCount: 2)
    }
  }

  @Test func timeout_closesTheConnection() async throws {
    try await withServer { server in
      server.route("/", HTTPAnswer.ok().held(by: Gate()))
      let clock = ManualClock()
      let http = HTTPManager(clock: clock)
      let handle = http.operations.add(HTTPTask(request(server.url()), timeout: .seconds(5)))
      await server.requests.wait(forCount: 1)
      clock.advance(by: .seconds(5))
      #expect((await settled(handle).error as? ManagedTaskError)?.code == .timedOut)
      await server.abandonedRequests.wait(forCount: 1)
    }
  }

  @Test func stop_endsEverything() async throws {
    try await withServer { server in
      server.route("/", HTTPAnswer.ok().held(by: Gate()))
      let http = HTTPManager(clock: ManualClock())
      let handles = (0..<5).map { _ in http.operations.add(HTTPTask(request(server.url()))) }
      await server.requests.wait(forCount: 5)
      await http.operations.stop()
      #expect(handles.allSatisfy { $0.outcome?.isCancelled == true })
      await server.abandonedRequests.wait(forCount: 5)
      #expect(
        (await settled(http.operations.add(HTTPTask(request(server.url())))).error as? ManagedTaskError)?.code
          == .stopped)
    }
  }

  @Test func badInput_isATypedOutcome() async throws {
    let refusing = try RefusingPort()
    try await withServer(keepsConnections: false) { server in
      server.route("/cut", HTTPAnswer.ok("hello").cutShort(after: 2))
      server.route("/loop", .endlessRedirect())
      server.route("/huge", .hugeHeader(byteCount: 1_000_000))
      server.route("/drop", .drop)
      server.route("/garbage", .raw("SMTP ready\r\n\r\n"))
      let http = HTTPManager(clock: ManualClock())
      let expected: [(String, HTTPError.Code)] = [
        ("file:///etc/passwd", .invalidURL), ("nowhere", .invalidURL), (refusing.url(), .connectionRefused),
        (server.url("/cut"), .truncatedBody), (server.url("/loop"), .tooManyRedirects),
        (server.url("/huge"), .headerTooLarge), (server.url("/drop"), .connectionLost),
        (server.url("/garbage"), .malformedAnswer),
      ]
      let handles = expected.map { http.operations.add(HTTPTask(request($0.0))) }
      for (handle, (url, code)) in zip(handles, expected) {
        #expect((await settled(handle).error as? HTTPError)?.code == code, "\(url)")
      }
      await http.operations.waitUntilIdle()
    }
  }

  @Test func interceptorThatThrows_orNeverAnswers_isATypedOutcome() async throws {
    struct Refusal: Error {}
    let clock = ManualClock()
    let asked = EventRecorder<String>()
    let http = HTTPManager(
      interceptors: [
        .headers(timeout: .seconds(3)) { request in
          asked.record(request.url!.path)
          if request.url!.path == "/throws" { throw Refusal() }
          try await Gate().waitUnlessCancelled()
          return [:]
        }
      ], clock: clock)
    let throwing = http.operations.add(HTTPTask(request("http://127.0.0.1:1/throws")))
    let thrown = await settled(throwing).error as? ManagedTaskError
    #expect(thrown?.code == .interceptionFailed && thrown?.cause is Refusal)
    let hanging = http.operations.add(HTTPTask(request("http://127.0.0.1:1/hangs")))
    await asked.wait(for: "/hangs")
    clock.advance(by: .seconds(3))
    #expect((await settled(hanging).error as? ManagedTaskError)?.code == .interceptionTimedOut)
  }

  @Test func retryReactor_triesAgain() async throws {
    try await withServer(keepsConnections: false) { server in
      server.route("/", .failing(2, then: .ok("at last")))
      let http = HTTPManager(
        reactors: [.retrying(RetryPolicy(maxAttempts: 3, backoff: .noDelay))], clock: ManualClock())
      let answer = try await http.data(for: request(server.url()))
      #expect(answer.body == Data("at last".utf8))
      #expect(server.count("/") == 3)
    }
  }

  @Test func retryAfter_isHonoured() async throws {
    try await withServer(keepsConnections: false) { server in
      server.route("/", .failing(1, with: .retryLater(after: "7"), then: .ok()))
      let clock = ManualClock()
      let delays = EventRecorder<Duration>()
      var policy = RetryPolicy(backoff: .noDelay)
      policy.willRetry = { _, _, delay in delays.record(delay) }
      let http = HTTPManager(reactors: [.retrying(policy)], clock: clock)
      let handle = http.operations.add(HTTPTask(request(server.url())))
      await clock.waitForSleeper(dueIn: .seconds(7))
      #expect(delays.events == [.seconds(7)])
      clock.advance(by: .seconds(6))
      #expect(handle.state == .delayed && server.count("/") == 1)
      clock.advance(by: .seconds(1))
      #expect(await settled(handle).value?.status == 200)
    }
  }

  @Test func upload_isSentWholeAgain_whenItIsTriedAgain() async throws {
    try await withServer(keepsConnections: false) { server in
      server.route("/", HTTPRoute { $0.number == 1 ? .status(503) : .status(200, bytes: $0.body) })
      let http = HTTPManager(reactors: [.retrying(RetryPolicy(backoff: .noDelay))], clock: ManualClock())
      let bytes = Data((0..<100_000).map(HTTPAnswer.largeByte))
      let response = try await http.upload(for: request(server.url(), "POST"), from: .data(bytes))
      #expect(response.body == bytes && server.requests.events.map(\.body.count) == [100_000, 100_000])
    }
  }

  @Test func manager_andItsSession_areReleased_whenARequestThatRanHasEnded() async throws {
    try await withServer { server in
      let gate = Gate()
      server.route("/", .redirect(to: "/next"))
      server.route("/next", HTTPAnswer.ok("there").held(by: gate))
      var http: HTTPManager? = HTTPManager(configuration: .ephemeral, clock: ManualClock())
      let (manager, session) = (WeakReference(http!), WeakReference(http!.session))
      var handle: OperationHandle<HTTPResponse>? = http!.operations.add(HTTPTask(request(server.url())))
      await server.requests.wait(forCount: 2)
      http = nil
      await untilReleased(manager)
      gate.open()
      #expect(await settled(handle!).value?.body == Data("there".utf8))
      handle = nil
      await untilReleased(session)
    }
  }

  @Test func session_isReleased_whenItsManagerWas_handleKept() async throws {
    try await withServer { server in
      server.route("/", .ok("there"))
      var http: HTTPManager? = HTTPManager(configuration: .ephemeral, clock: ManualClock())
      let session = WeakReference(http!.session)
      let handle = http!.operations.add(HTTPTask(request(server.url())))
      let unstarted = http!.operations.add(HTTPTask(request(server.url())), startImmediately: false)
      #expect(await settled(handle).value?.body == Data("there".utf8))
      http = nil
      await untilReleased(session)
      #expect(handle.state == .finished && unstarted.state == .finished)
    }
  }
}
