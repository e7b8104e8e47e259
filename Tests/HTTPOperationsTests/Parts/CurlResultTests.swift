#if os(Linux)
import Testing

@testable import HTTPOperations

@Suite("HTTP: what an error of libcurl means") struct CurlResultTests {
  @Test(arguments: [Int32(7), 56]) func tunnel_thatIsRefused_isOfTheProxy_whateverTheCode(_ code: Int32) {
    let end = CurlResult(code: code).end(hasAnswer: false, isWhole: true, text: "CONNECT tunnel failed, response 407")
    guard case .failed(let reason, let detail) = end else {
      Issue.record("\(end)")
      return
    }
    #expect(reason == .other && detail?.contains("the proxy refused") == true)
  }

  @Test func requestTooLarge_isOfTheRequest() {
    let end = CurlResult(code: 100).end(hasAnswer: false, isWhole: true, text: "HTTP request too large")
    guard case .failed(let reason, _) = end else {
      Issue.record("\(end)")
      return
    }
    #expect(reason == .invalidRequest)
  }
}
#endif
