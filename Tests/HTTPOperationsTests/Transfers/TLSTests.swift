#if os(Linux)
import CompositeOperations
import Foundation
import FoundationNetworking
import HTTPOperations
import TestSupport
import Testing

/// Which servers are trusted, with a real one.
@Suite("HTTP: secure connections", .hangLimit, .enabled(if: TLSServer.isAvailable)) struct TLSTests {
  @Test func certificate_withoutATrustedSignature_isRefused() async throws {
    let server = try await TLSServer()
    let error = try #require(await outcomeOfStarting(HTTPOperation(request(server.url))).httpError)
    #expect(error.code == .insecureConnection && "\(error)".contains("certificate"))
  }

  @Test func certificate_thatIsTrusted_isAccepted() async {
    await #expect(processExitsWith: .success) {
      let server = try await TLSServer()
      setenv("URLSessionCertificateAuthorityInfoFile", server.certificate.path, 1)
      let answer = try await HTTPOperation(request(server.url)).run()
      precondition(answer.status == 200 && answer.text.contains("TLS"))
    }
  }

  @Test func certificate_ofAnotherHost_isRefused() async {
    await #expect(processExitsWith: .success) {
      let server = try await TLSServer(name: "DNS:other.example")
      setenv("URLSessionCertificateAuthorityInfoFile", server.certificate.path, 1)
      let error = await outcomeOfStarting(HTTPOperation(request(server.url))).httpError
      precondition(error?.code == .insecureConnection)
    }
  }

  @Test func key_thatIsPinned_isDemanded() async {
    await #expect(processExitsWith: .success) {
      let server = try await TLSServer()
      setenv("URLSessionCertificateAuthorityInfoFile", server.certificate.path, 1)
      let other = Data(repeating: 7, count: 32).base64EncodedString()
      func outcome(_ pins: [String: Set<String>]) async -> Outcome<HTTPResponse> {
        await outcomeOfStarting(HTTPOperation(request(server.url), options: HTTPOptions(pinnedKeys: pins)))
      }
      let right = await outcome(["127.0.0.1": [other, server.pin]])
      precondition(right.value?.status == 200)
      for wrong in [[other], []] as [Set<String>] {
        let error = await outcome(["127.0.0.1": wrong]).httpError
        precondition(error?.code == .insecureConnection)
      }
      let elsewhere = await outcome(["other.example": [other]])
      precondition(elsewhere.value?.status == 200)
    }
  }

  @Test func redirectToWhereNoKeyCanBeProved_isNotFollowed() async {
    await #expect(processExitsWith: .success) {
      try await withServer { plain in
        plain.route("/", .ok("plain"))
        let redirect =
          "HTTP/1.1 302 Found\r\nLocation: \(plain.url())\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        let server = try await TLSServer(answers: ["redirect": redirect])
        setenv("URLSessionCertificateAuthorityInfoFile", server.certificate.path, 1)
        func outcome(_ host: String) async -> Outcome<HTTPResponse> {
          let options = HTTPOptions(pinnedKeys: [host: [server.pin]])
          return await outcomeOfStarting(HTTPOperation(request(server.url + "redirect"), options: options))
        }
        let elsewhere = await outcome("other.example")
        precondition(elsewhere.value?.text == "plain", "\(elsewhere)")
        let error = await outcome("127.0.0.1").httpError
        precondition(
          error?.code == .insecureConnection && error?.url?.absoluteString == plain.url(),
          "\(String(describing: error))")
        precondition(plain.requests.count == 1)
      }
    }
  }
}
#endif
