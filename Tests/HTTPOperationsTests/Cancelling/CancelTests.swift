import CompositeOperations
import Foundation
import HTTPOperations
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("HTTP: cancelling", .hangLimit) struct CancelTests {
  @Test func cancel_whileTheServerThinks_closesTheConnection() async throws {
    try await withServer { server in
      server.route("/", HTTPAnswer.ok().held(by: Gate()))
      let operation = HTTPOperation(request(server.url()))
      async let outcome = outcomeOfStarting(operation)
      await server.requests.wait(forCount: 1)
      operation.cancel()
      #expect(await outcome.isCancelled)
      await server.abandonedRequests.wait(forCount: 1)
    }
  }

  /// Where a request stands when its server goes no further, for ever.
  enum Standstill: String, CaseIterable {
    case connecting, handshake, tunnel, upload, head, body, packedBody, redirect, line
  }

  @Test(arguments: Standstill.allCases) func cancel_whereverTheRequestStands_settles(_ place: Standstill) async throws {
    try await withServer(keepsConnections: false) { server in
      let slowly = HTTPPiece("x").delayed(by: .milliseconds(5))
      let ok = "HTTP/1.1 200 OK\r\n"
      server.route("/", .ok())
      server.route("/head", .endless(ok + "X: ", then: slowly))
      server.route("/body", .endless(ok + "\r\n", then: slowly))
      server.route("/packedBody", .endless(ok + "Content-Encoding: gzip\r\n\r\n", then: slowly.held(by: Gate())))
      server.route("/redirect", .endless("HTTP/1.1 302 Found\r\nLocation: /body\r\n\r\n", then: slowly))
      server.route("/line", HTTPAnswer.ok().held(by: Gate()))
      let (full, silent) = try (SilentPort(takesConnections: false), SilentPort(takesConnections: true))
      let configuration = URLSessionConfiguration.ephemeral
      let session = URLSession(configuration: configuration)
      configuration.connectionProxyDictionary = [
        "HTTPSEnable": true, "HTTPSProxy": "127.0.0.1", "HTTPSPort": Int(silent.port),
      ]
      let proxied = URLSession(configuration: configuration)
      let operation =
        switch place {
        case .connecting: HTTPOperation(request(full.url()), session: session)
        case .handshake: HTTPOperation(request(silent.url(scheme: "https")), session: session)
        case .tunnel: HTTPOperation(request("https://host.invalid/"), session: proxied)
        case .upload:
          HTTPOperation(
            request(silent.url(), "PUT"), transfer: .upload(.data(Data(count: 30_000_000))), session: session)
        case .head, .body, .packedBody, .redirect, .line:
          HTTPOperation(request(server.url("/\(place)")), session: session)
        }
      if place == .line {
        for _ in 0..<configuration.httpMaximumConnectionsPerHost {
          HTTPOperation(request(server.url("/line")), session: session).start()
        }
        await server.requests.wait(forCount: configuration.httpMaximumConnectionsPerHost)
      }
      operation.start()
      switch place {
      case .head, .body, .packedBody, .redirect: await server.requests.wait(forCount: 1)
      case .connecting, .handshake, .tunnel, .upload:
        // What began before it is under way when this is answered.
        for _ in 0..<3 { try await HTTPOperation(request(server.url()), session: session).run() }
      case .line: break
      }
      #expect(operation.outcome == nil)
      operation.cancel()
      #expect(await settled(operation).isCancelled)
      #expect(server.count("/line") <= configuration.httpMaximumConnectionsPerHost)
      if place == .head || place == .body || place == .packedBody {
        await server.openConnections.wait { $0.last == 0 }
      }
    }
  }

  @Test func cancel_beforeTheStart_sendsNoRequest() async throws {
    try await withServer { server in
      let operation = HTTPOperation(request(server.url()))
      operation.cancel()
      #expect(await outcomeOfStarting(operation).isCancelled)
      #expect(server.requests.count == 0)
    }
  }

  @Test func cancel_ofTheTaskThatRunsIt_closesTheConnection() async throws {
    try await withServer { server in
      server.route("/", HTTPAnswer.ok().held(by: Gate()))
      let task = Task { try await HTTPOperation(request(server.url())).run() }
      await server.requests.wait(forCount: 1)
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      await server.abandonedRequests.wait(forCount: 1)
    }
  }

  @Test func timeout_closesTheConnection() async throws {
    try await withServer { server in
      server.route("/", HTTPAnswer.ok().held(by: Gate()))
      let clock = ManualClock()
      let operation = HTTPOperation(request(server.url())).timeout(.seconds(3), clock: clock)
      async let outcome = outcomeOfStarting(operation)
      await server.requests.wait(forCount: 1)
      clock.advance(by: .seconds(3))
      #expect(await outcome.error is OperationTimeout)
      await server.abandonedRequests.wait(forCount: 1)
    }
  }

  @Test func cancel_fromACompletion_ofAnotherRequest_isSafe() async throws {
    try await withServer { server in
      server.route("/quick", .ok())
      server.route("/held", HTTPAnswer.ok().held(by: Gate()))
      let held = HTTPOperation(request(server.url("/held")))
      let quick = HTTPOperation(request(server.url("/quick")))
      async let heldOutcome = outcomeOfStarting(held)
      await server.requests.wait(forCount: 1)
      quick.completion = { _ in
        held.cancel()
        held.cancel()
      }
      #expect(await outcomeOfStarting(quick).value?.status == 200)
      #expect(await heldOutcome.isCancelled)
    }
  }

  @Test func completion_thatBlocks_doesNotKeepOthersWaiting() async throws {
    try await withServer { server in
      server.route("/first", .ok())
      server.route("/second", .ok())
      let (first, second) = (
        HTTPOperation(request(server.url("/first"))), HTTPOperation(request(server.url("/second")))
      )
      let done = Gate()
      second.completion = { _ in done.open() }
      first.completion = { _ in
        second.start()
        done.waitBlocking()
      }
      #expect(await outcomeOfStarting(first).value?.status == 200)
      #expect(second.outcome?.value?.status == 200)
    }
  }

  @Test func settlingByHand_closesTheConnection_andLeavesNoFile() async throws {
    let folder = try TemporaryFolder()
    try await withServer { server in
      server.route("/", .pieces([HTTPPiece("x"), HTTPPiece("y").held(by: Gate())]))
      for number in 1...2 {
        var operation: HTTPOperation? = HTTPOperation(
          request(server.url()), transfer: .download(to: folder.file("file")))
        let reference = WeakReference(operation!)
        operation!.start()
        await server.requests.wait(forCount: number)
        if number == 1 {
          operation!.finish(with: HTTPResponse(status: 299))
          #expect(operation!.outcome?.value?.status == 299)
        } else {
          operation!.reject(with: TestError("enough"))
        }
        operation = nil
        await server.abandonedRequests.wait(forCount: number)
        await untilReleased(reference)
      }
      // A disk that is slow for a second removes it later.
      await until((try? folder.contents().isEmpty) == true)
      let contents = try folder.contents()
      #expect(contents.isEmpty)
    }
  }

  @Test func settlingByHand_beforeTheStart_sendsNoRequest() async throws {
    try await withServer { server in
      let operation = HTTPOperation(request(server.url()))
      operation.finish(with: HTTPResponse(status: 299))
      operation.start()
      server.route("/other", .ok())
      try await HTTPOperation(request(server.url("/other"))).run()
      #expect(server.count("/") == 0)
    }
  }

  @Test func operation_isReleased_whenItHasSettled() async throws {
    try await withServer { server in
      server.route("/", .ok())
      var operation: HTTPOperation? = HTTPOperation(request(server.url()))
      let reference = WeakReference(operation!)
      _ = await outcomeOfStarting(operation!)
      operation = nil
      await untilReleased(reference)
    }
  }

  @Test func operation_thatNeverStarts_isReleased() async throws {
    let reference = WeakReference(HTTPOperation(request("http://127.0.0.1:1/")))
    await untilReleased(reference)
  }
}
