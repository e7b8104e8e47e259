import CompositeOperations
import Foundation
import TestSupport
import Testing

@testable import HTTPOperations

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Keys that servers have to prove are never left out of account.
@Suite("HTTP: pinned keys", .hangLimit) struct PinnedKeysTests {
  private let pin = Data(repeating: 7, count: 32).base64EncodedString()

  @Test(arguments: ["", "sha256//", "no Base64", "c2hvcnQ="]) func pin_thatIsNoHash_isAMistake(_ pin: String)
    async throws
  {
    for host in ["127.0.0.1", "other.example"] {
      let options = HTTPOptions(pinnedKeys: [host: [self.pin, "sha256//\(self.pin)", pin]])
      let operation = HTTPOperation(request("https://127.0.0.1:1/"), options: options)
      let error = try #require(await outcomeOfStarting(operation).httpError)
      #expect(error.code == .invalidRequest && error.description.contains("the key pinned for \(host), “\(pin)”"))
    }
  }

  @Test(arguments: ["", "https://host", "host/path", "host:443", "abc:443", "a b", "user@host"])
  func host_thatIsNone_isAMistake(_ host: String) async throws {
    let options = HTTPOptions(pinnedKeys: [host: [pin], "127.0.0.1": [pin]])
    let operation = HTTPOperation(request("https://127.0.0.1:1/"), options: options)
    let error = try #require(await outcomeOfStarting(operation).httpError)
    #expect(error.code == .invalidRequest && error.description.contains("pinned for “\(host)”"), "\(error)")
  }

  @Test(arguments: [
    ["127.0.0.1", "127.0.0.1"], ["[::1]", "::1"], ["[::1]", "[::1]"], ["host.example", "HOST.example."],
    ["host.example.", "Host.example"], ["bücher.example", "BÜCHER.example"],
    ["bücher.example", "xn--bcher-kva.example"], ["[fe80::1%25eth0]", "[fe80::1%25eth0]"],
    ["[fe80::1%25eth0]", "fe80::1%eth0"],
  ])
  func host_isFound_howeverItIsSpelt(_ hosts: [String]) {
    let options = HTTPOptions(pinnedKeys: [hosts[1]: ["a"], "other.example": ["b"]])
    #expect(options.pins(of: URL(string: "https://\(hosts[0])/")) == ["a"])
    #expect(options.mistakenHost == nil)
  }

  @Test func hostThatIsNamedTwice_hasTheKeysOfBoth() {
    let options = HTTPOptions(pinnedKeys: ["host.example": ["a"], "HOST.example.": ["b"]])
    #expect(options.pins(of: URL(string: "https://host.example/")) == ["a", "b"])
  }

  @Test func pin_withoutTLS_isRefused() async throws {
    let options = HTTPOptions(pinnedKeys: ["127.0.0.1": [pin]])
    let error = await outcomeOfStarting(HTTPOperation(request("http://127.0.0.1:1/"), options: options)).httpError
    #expect(error?.code == .insecureConnection && error?.description.contains("without TLS") == true)
  }

  #if canImport(FoundationNetworking)
  private final class Mock: URLProtocol {
    override class func canInit(with request: URLRequest) -> Bool { request.url?.host == "mock" }
    override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
    override func startLoading() {
      let response = HTTPURLResponse(url: request.url!, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: [:])!
      client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
      client?.urlProtocolDidFinishLoading(self)
    }
    override func stopLoading() {}
  }

  @Test func pin_thatCannotBeChecked_isRefused() async throws {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.protocolClasses = [Mock.self] + (configuration.protocolClasses ?? [])
    let session = URLSession(configuration: configuration)
    let pinned = HTTPOptions(pinnedKeys: ["mock": [pin]])
    let error = await outcomeOfStarting(HTTPOperation(request("https://mock/"), session: session, options: pinned))
      .httpError
    #expect(error?.code == .insecureConnection && error?.description.contains("no key can be looked at") == true)
    let answer = try await HTTPOperation(request("https://mock/"), session: session).run()
    #expect(answer.status == 200)
  }
  #endif
}
