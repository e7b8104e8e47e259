import CompositeOperations
import Foundation
import TestSupport
import Testing

@testable import HTTPOperations

#if canImport(FoundationNetworking)
import FoundationNetworking

/// What is made of a caller's session on Linux, where the requests run in another one: see
/// URLSessionDifferences.swift.
@Suite("HTTP: sessions on Linux", .hangLimit) struct SessionTests {
  /// A cache that has nothing, and records what it is asked for.
  private final class EmptyCache: URLCache, @unchecked Sendable {  // no state of its own but what is thread-safe
    let questions = EventRecorder<URL?>()

    override func getCachedResponse(
      for dataTask: URLSessionDataTask, completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
      questions.record(dataTask.currentRequest?.url)
      completionHandler(nil)
    }
  }

  /// A task that is cancelled while it waits for a cache can end the process, depending on which
  /// comes first.
  @Test func cache_isNotAsked() async throws {
    try await withServer { server in
      server.route("/", .ok("here"))
      server.route("/held", HTTPAnswer.ok().held(by: Gate()))
      let cache = EmptyCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
      let configuration = URLSessionConfiguration.ephemeral
      configuration.urlCache = cache
      let session = URLSession(configuration: configuration)
      let response = try await HTTPOperation(request(server.url()), session: session).run()
      #expect(response.text == "here")
      let held = HTTPOperation(request(server.url("/held")), session: session)
      async let outcome = outcomeOfStarting(held)
      await server.requests.wait { $0.contains { $0.path == "/held" } }
      held.cancel()
      #expect(await outcome.isCancelled)
      #expect(cache.questions.count == 0)
    }
  }

  @Test func observer_thatBlocks_keepsNoOtherRequestWaiting() async throws {
    try await withServer { server in
      let begin = Gate()
      server.route("/blocking", .pieces([HTTPPiece("x"), HTTPPiece("y").held(by: begin)], isChunked: false))
      server.route("/", .ok("here"))
      let session = URLSession(configuration: .ephemeral)
      let (isBlocking, goOn) = (Gate(), Gate())
      let blocking = HTTPOperation(request(server.url("/blocking")), session: session)
      let token = blocking.addObserver { event in
        guard event.fractionCompleted == 0.5 else { return }
        isBlocking.open()
        goOn.waitBlocking()
      }
      async let blocked = outcomeOfStarting(blocking)
      await isBlocking.wait()
      let other = try await HTTPOperation(request(server.url()), session: session).run()
      #expect(other.text == "here")
      goOn.open()
      begin.open()
      #expect(await blocked.value?.text == "xy")
      token.remove()
    }
  }

  @Test func sessionThatWasMade_goesWithTheOther() async throws {
    try await withServer { server in
      server.route("/", .ok())
      let session = URLSession(configuration: .ephemeral)
      try await HTTPOperation(request(server.url()), session: session).run()
      #expect(server.openConnections.events == [1])
      session.finishTasksAndInvalidateTwin()
      await server.openConnections.wait { $0.last == 0 }
    }
  }

  @Test func configuration_ofTheSession_staysAsItIs() async throws {
    try await withServer { server in
      server.route("/", .ok())
      let configuration = URLSessionConfiguration.ephemeral
      configuration.timeoutIntervalForRequest = 3_600.5
      configuration.httpAdditionalHeaders = ["X-Color": "red"]
      let session = URLSession(configuration: configuration)
      let cache = try #require(session.configuration.urlCache)
      try await HTTPOperation(request(server.url()), session: session).run()
      #expect(session.configuration.urlCache === cache && session.configuration.timeoutIntervalForRequest == 3_600.5)
      #expect(session.configuration.httpAdditionalHeaders?["X-Color"] as? String == "red")
    }
  }

  @Test func configuration_changedInTheSession_changesNoRequest() async throws {
    try await withServer { server in
      server.route("/", .ok())
      let configuration = URLSessionConfiguration.ephemeral
      configuration.httpAdditionalHeaders = ["X-Color": "red"]
      let session = URLSession(configuration: configuration)
      try await HTTPOperation(request(server.url()), session: session).run()
      session.configuration.httpAdditionalHeaders = ["X-Color": "blue"]
      try await HTTPOperation(request(server.url()), session: session).run()
      #expect(server.requests.events.map { $0.headers["x-color"] } == ["red", "red"])
    }
  }
}
#endif
