import Foundation
import Testing

@testable import HTTPOperations

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("HTTP: where redirects lead") struct HTTPRedirectTests {
  private func target(
    _ location: String, status: Int = 302, _ method: String = "GET", from url: String = "http://host/a/b?c"
  ) throws -> HTTPRedirect.Target {
    let request = request(url, method) {
      $0.httpBody = Data("x".utf8)
      for name in ["Authorization", "Cookie", "Content-Type", "X-Color"] { $0.setValue("x", forHTTPHeaderField: name) }
    }
    return try HTTPRedirect.target(location, status: status, of: request, at: request.url)
  }

  @Test(arguments: [
    ("/x", "http://host/x"), ("x?y", "http://host/a/x?y"), ("//other/x", "http://other/x"),
    ("https://other:8443/", "https://other:8443/"), ("?z", "http://host/a/b?z"),
  ])
  func places_areRelativeToTheRequest(_ location: String, _ url: String) throws {
    #expect(try target(location).request.url?.absoluteString == url)
  }

  @Test(arguments: ["http://other/", "https://host/", "http://host:81/", "http://other.host/"])
  func secrets_stayWithTheirServer(_ location: String) throws {
    let request = try target(location).request
    #expect(request.value(forHTTPHeaderField: "Authorization") == nil)
    #expect(request.value(forHTTPHeaderField: "Cookie") == nil)
    #expect(request.value(forHTTPHeaderField: "X-Color") == "x")
  }

  @Test(arguments: ["/x", "http://host:80/x", "HTTP://HOST/x"])
  func secrets_areSent_toTheSameServer(_ location: String) throws {
    #expect(try target(location).request.value(forHTTPHeaderField: "Authorization") == "x")
  }

  @Test(arguments: [
    ("HTTP://Host/x", "http://host:80"), ("https://host", "https://host:443"), ("https://host:80", "https://host:80"),
    ("http://u:p@host:81/?q", "http://host:81"), ("/path", nil), ("mailto:x@y", nil), ("file:///x", nil),
    ("http:///x", nil), ("ftp://host/", nil), ("http:x", nil), ("http://[::1]:81/", "http://[::1]:81"),
  ])
  func server_isSchemeHostAndPort_ofAWebAddress(_ url: String, _ server: String?) {
    #expect(URL(string: url)?.server == server)
  }

  @Test(arguments: [
    (301, "POST", "GET"), (302, "POST", "GET"), (303, "POST", "GET"), (303, "DELETE", "GET"), (303, "HEAD", "HEAD"),
    (301, "DELETE", "DELETE"), (307, "POST", "POST"), (308, "PUT", "PUT"),
  ])
  func methods_andBodies(_ status: Int, _ method: String, _ next: String) throws {
    let target = try target("/x", status: status, method)
    #expect(target.request.httpMethod == next)
    #expect(target.keepsBody == (next == method) && (target.request.httpBody != nil) == target.keepsBody)
    #expect((target.request.value(forHTTPHeaderField: "Content-Type") != nil) == target.keepsBody)
  }
}
