import HTTPOperations
import Testing

@Suite("HTTPHeaders") struct HTTPHeadersTests {
  @Test func field_isFoundByItsNameInAnyCase() {
    var headers: HTTPHeaders = ["Content-Type": "text/plain"]
    #expect(headers["content-type"] == "text/plain")
    headers["CONTENT-TYPE"] = nil
    #expect(headers == [:])
  }
}
