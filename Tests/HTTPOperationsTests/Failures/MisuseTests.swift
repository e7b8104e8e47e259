#if os(macOS) || os(Linux)
import Foundation
import HTTPOperations
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("HTTP: misuse", .hangLimit) struct MisuseTests {
  @Test func negativeNumberOfRedirects_traps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = HTTPOperation(URLRequest(url: URL(string: "http://host")!), maxRedirects: -1)
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("HTTPOperation was given -1 redirects to follow. Use 0 to follow none"))
  }
}
#endif
