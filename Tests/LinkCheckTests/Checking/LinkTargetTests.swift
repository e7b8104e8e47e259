import Foundation
import Testing

@testable import LinkCheck

@Suite struct LinkTargetTests {
  @Test(arguments: [
    ("http://a.org", "http://a.org/"),
    ("HTTP://A.Org:80/B", "http://a.org/B"),
    ("https://a.org:443?q=1#f", "https://a.org/?q=1"),
    ("https://a.org:8443/b#f?g", "https://a.org:8443/b"),
    ("//a.org/b", "https://a.org/b"),
    ("https://a.org/b c", "https://a.org/b%20c"),
    ("https://a.org/b%20c?d=%C3%BC", "https://a.org/b%20c?d=%C3%BC"),
    ("https://a.org/ü", "https://a.org/%C3%BC"),
    ("http://[::1]:8080/x", "http://[::1]:8080/x"),
    ("http://user@a.org/x", "http://user@a.org/x"),
  ])
  func webAddresses_areBroughtIntoOneForm(_ destination: String, _ url: String) throws {
    guard case .web(let found) = LinkTarget(destination) else {
      Issue.record("\(LinkTarget(destination))")
      return
    }
    #expect(found.absoluteString == url)
  }

  @Test(
    arguments: [
      ("b.md", "b.md", nil), ("b.md#c", "b.md", "c"), ("#c", nil, "c"), ("#", nil, ""), ("?q", nil, nil),
      ("b.md?q#c", "b.md", "c"), ("b%20c%23.md#d%20e", "b c#.md", "d%20e"), ("b.md#c#d", "b.md", "c#d"),
      ("100%.md", "100%.md", nil), ("/b.md", "/b.md", nil), ("C:\\b.md", "C:\\b.md", nil), ("a/b:c", "a/b:c", nil),
      ("./b", "./b", nil), ("b#%zz", "b", "%zz"),
    ] as [(String, String?, String?)])
  func relativeDestinations_arePathAndFragment(_ destination: String, _ path: String?, _ fragment: String?) {
    #expect(LinkTarget(destination) == .local(path: path, fragment: fragment))
  }

  @Test(arguments: [
    ("b.html", "https://a.org/d/", "https://a.org/d/b.html"),
    ("/b.html", "https://a.org/d/", "https://a.org/b.html"),
    ("../b.html", "//a.org/d/e/", "https://a.org/d/b.html"),
  ])
  func webBase_makesRelativeDestinationsWebLinks(_ destination: String, _ base: String, _ url: String) throws {
    #expect(LinkTarget(destination, base: base) == .web(try #require(URL(string: url))))
  }

  @Test(
    arguments: [
      ("b.html#c", "../d/", "../d/b.html", "c"), ("b.html", "../d/e", "../d/b.html", nil),
      ("/b.html", "../d/", "/b.html", nil),
      ("b.html", "d.html", "b.html", nil), ("#c", "../d/", nil, "c"), ("b.html", "#", "b.html", nil),
    ] as [(String, String, String?, String?)])
  func localBase_movesRelativeDestinations(
    _ destination: String, _ base: String, _ path: String?, _ fragment: String?
  ) {
    #expect(LinkTarget(destination, base: base) == .local(path: path, fragment: fragment))
  }

  @Test(arguments: ["mailto:a@b", "MAILTO:a@b", "tel:1", "data:,x", "x-y.z+1:q", "file:///a"])
  func otherSchemes_areSkipped(_ destination: String) throws {
    let scheme = try #require(destination.split(separator: ":").first).lowercased()
    #expect(LinkTarget(destination) == .skipped(scheme: scheme))
  }

  @Test func servers_areToldApartByPort() throws {
    #expect(try #require(URL(string: "http://a.org:81/x")).server == "a.org:81")
    #expect(try #require(URL(string: "http://a.org/x")).server == "a.org")
    #expect(try #require(URL(string: "http://[::1]:1/x")).server.contains("::1"))
  }
}
