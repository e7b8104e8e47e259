import CompositeOperations
import Foundation
import HTTPOperations
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("HTTP: redirects", .hangLimit) struct RedirectTests {
  @Test func redirects_areFollowed_andTheLastAddressIsTold() async throws {
    try await withServer { server in
      server.route("/a", .redirect(to: "/b?x=1", status: 301))
      server.route("/b?x=1", .redirect(to: server.url("/c"), status: 307))
      server.route("/c", .ok("there"))
      let response = try await HTTPOperation(request(server.url("/a"))).run()
      #expect(response.text == "there" && response.url?.absoluteString == server.url("/c"))
    }
  }

  @Test(arguments: [301, 302, 303, 307, 308], ["POST", "PUT"])
  func method_andBody_areKeptWhereTheyHaveToBe(_ status: Int, _ method: String) async throws {
    try await withServer { server in
      server.route("/from", .redirect(to: "/to", status: status))
      server.route("/to", .echo)
      let keeps = status >= 307 || (method == "PUT" && status != 303)
      let body = Data("body".utf8)
      let upload = HTTPOperation(request(server.url("/from"), method), transfer: .upload(.data(body)))
      let plain = HTTPOperation(request(server.url("/from"), method) { $0.httpBody = body })
      for operation in [upload, plain] {
        let response = try await operation.run()
        #expect(response.headers["X-Method"] == (keeps ? method : "GET"))
        #expect(response.body == (keeps ? body : Data()))
      }
    }
  }

  @Test func endlessRedirect_isAnError_afterAsManyAsAllowed() async throws {
    try await withServer { server in
      server.route("/", .endlessRedirect())
      for limit in [1, 3, 30] {
        let before = server.count("/")
        let error = await outcomeOfStarting(HTTPOperation(request(server.url()), maxRedirects: limit)).httpError
        #expect(error?.code == .tooManyRedirects && server.count("/") - before == limit + 1)
      }
    }
  }

  @Test func exactlyAsManyAsAllowed_areFollowed() async throws {
    try await withServer { server in
      for number in 1...3 { server.route("/\(number)", .redirect(to: "/\(number + 1)")) }
      server.route("/4", .ok())
      let response = try await HTTPOperation(request(server.url("/1")), maxRedirects: 3).run()
      #expect(response.status == 200)
      #expect(
        await outcomeOfStarting(HTTPOperation(request(server.url("/1")), maxRedirects: 2)).httpError?.code
          == .tooManyRedirects)
    }
  }

  @Test func redirect_isAnAnswer_ifNoneIsFollowed() async throws {
    try await withServer { server in
      server.route("/", .redirect(to: "/next"))
      let error = await outcomeOfStarting(HTTPOperation(request(server.url()), maxRedirects: 0)).statusError
      #expect(error?.status == 302 && error?.headers["Location"] == "/next")
      let response = try await HTTPOperation(request(server.url()), acceptedStatuses: nil, maxRedirects: 0).run()
      #expect(response.status == 302)
      #expect(server.count("/next") == 0)
    }
  }

  @Test(arguments: ["file:///etc/passwd", "ftp://host/", "http://"])
  func redirectThatLeadsNowhere_isAnError(_ location: String) async throws {
    try await withServer { server in
      server.route("/", .redirect(to: location))
      let error = await outcomeOfStarting(HTTPOperation(request(server.url()))).httpError
      #expect(
        error?.code == .invalidRedirect && error?.description.contains("cannot be followed (it leads to") == true)
      #expect(server.requests.count == 1)
    }
  }

  /// Has the session of Foundation make the requests, also on Linux.
  private final class Unused: URLProtocol {
    override class func canInit(with request: URLRequest) -> Bool { false }
  }

  @Test(arguments: [true, false])
  func severalAddresses_areAnError_unlessTheyAreTheSame(_ isOwnTransport: Bool) async throws {
    let configuration = URLSessionConfiguration.ephemeral
    if !isOwnTransport { configuration.protocolClasses = [Unused.self] + (configuration.protocolClasses ?? []) }
    let session = URLSession(configuration: configuration)
    try await withServer { server in
      for path in ["/a", "/b", "/a,b"] { server.route(path, .ok(path)) }
      for locations in [["/a", "/b"], ["/a", "/b", "/a"], [server.url("/a"), "/a"], ["", "/a"], ["/a, /b"]] {
        server.route("/", .status(302, headers: locations.map { ("Location", $0) }))
        let error = await outcomeOfStarting(HTTPOperation(request(server.url()), session: session)).httpError
        #expect(error?.code == .invalidRedirect, "\(locations)")
        #expect(error?.description.contains("it names several addresses") == true, "\(locations)")
        // As an answer it has them all.
        let answer = try await HTTPOperation(
          request(server.url()), session: session, acceptedStatuses: nil, maxRedirects: 0
        ).run()
        #expect(answer.headers["Location"] == locations.joined(separator: ", "))
      }
      #expect(Set(server.requests.events.map(\.path)) == ["/"])
      for (locations, end) in [(["/a", "/a"], "/a"), (["/b", "/b", "/b"], "/b"), (["/a,b"], "/a,b")] {
        server.route("/", .status(302, headers: locations.map { ("Location", $0) }))
        let answer = try await HTTPOperation(request(server.url()), session: session).run()
        #expect(answer.text == end)
      }
    }
  }

  @Test func addressWithASpaceAfterAComma_isFollowed() async throws {
    try await withServer { server in
      server.route("/a", .redirect(to: "/b?q=Paris, France", status: 302))
      server.route("/b?q=Paris,%20France", .ok("there"))
      let response = try await HTTPOperation(request(server.url("/a"))).run()
      #expect(response.text == "there")
    }
  }

  @Test func redirectWithoutAPlace_isAnAnswer() async throws {
    try await withServer { server in
      server.route("/", .status(302, body: "somewhere"))
      let error = await outcomeOfStarting(HTTPOperation(request(server.url()))).statusError
      #expect(error?.status == 302)
      #expect(error?.body == Data("somewhere".utf8))
    }
  }

  @Test func secrets_areNotSentToAnotherServer() async throws {
    try await withServer { first in
      try await withServer { second in
        first.route("/same", .redirect(to: "/here"))
        first.route("/here", .ok())
        first.route("/other", .redirect(to: second.url("/there")))
        second.route("/there", .ok())
        for path in ["/same", "/other"] {
          let operation = HTTPOperation(
            request(first.url(path)) {
              $0.setValue("Bearer secret", forHTTPHeaderField: "Authorization")
              $0.setValue("id=secret", forHTTPHeaderField: "Cookie")
              $0.setValue("red", forHTTPHeaderField: "X-Color")
            })
          try await operation.run()
        }
        let here = first.requests.events.last { $0.path == "/here" }?.headers
        #expect(here?["authorization"] == "Bearer secret" && here?["x-color"] == "red")
        let there = second.requests.events.first?.headers
        #expect(there?["authorization"] == nil && there?["cookie"] == nil && there?["x-color"] == "red")
      }
    }
  }

  #if canImport(FoundationNetworking)
  // Elsewhere URLSession adds the fields of its configuration to every request itself.
  @Test func secretsOfTheSession_areNotSentToAnotherServer() async throws {
    try await withServer { first in
      try await withServer { second in
        first.route("/same", .redirect(to: "/here"))
        first.route("/here", .ok())
        first.route("/other", .redirect(to: second.url("/there")))
        second.route("/there", .redirect(to: "/end"))
        second.route("/end", .ok())
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpAdditionalHeaders = ["authorization": "Bearer secret", "X-Color": "red", "X-Size": "small"]
        let session = URLSession(configuration: configuration)
        for path in ["/same", "/other"] {
          let request = request(first.url(path)) { $0.setValue("large", forHTTPHeaderField: "x-size") }
          try await HTTPOperation(request, session: session).run()
        }
        for request in first.requests.events {
          #expect(request.headers["authorization"] == "Bearer secret")
          #expect(request.headers["x-color"] == "red" && request.headers["x-size"] == "large")
        }
        #expect(second.requests.events.map(\.path) == ["/there", "/end"])
        for request in second.requests.events {
          #expect(request.headers["authorization"] == nil && request.headers["x-color"] == nil)
          #expect(request.headers["x-size"] == "large")
        }
      }
    }
  }
  #endif

  @Test func download_writesTheLastAnswerOnly() async throws {
    let folder = try TemporaryFolder()
    try await withServer { server in
      server.route("/from", .status(302, headers: [("Location", "/to")], body: "elsewhere"))
      server.route("/to", .ok("content"))
      let file = folder.file("file")
      try await HTTPOperation(request(server.url("/from")), transfer: .download(to: file)).run()
      #expect(folder.text(of: "file") == "content")
      let contents = try folder.contents()
      #expect(contents == ["file"])
    }
  }

  @Test func cancelOnTheWay_ends() async throws {
    try await withServer { server in
      server.route("/from", .redirect(to: "/to"))
      server.route("/to", HTTPAnswer.ok().held(by: Gate()))
      let operation = HTTPOperation(request(server.url("/from")))
      async let outcome = outcomeOfStarting(operation)
      await server.requests.wait { $0.contains { $0.path == "/to" } }
      operation.cancel()
      #expect(await outcome.isCancelled)
      await server.abandonedRequests.wait(forCount: 1)
    }
  }
}
