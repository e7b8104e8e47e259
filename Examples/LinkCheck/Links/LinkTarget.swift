import Foundation

/// What a link's destination refers to.
enum LinkTarget: Equatable, Sendable {
  /// Something to request. The URL has no fragment.
  case web(URL)
  /// A file or folder. A path of nil is the page itself; one with `/` at its front starts at the
  /// root. The fragment is as it was written: pages may have names with percent signs in them.
  case local(path: String?, fragment: String?)
  /// Something that cannot be checked here, such as a mail address.
  case skipped(scheme: String)
  /// No destination at all.
  case invalid(reason: String)

  /// - Parameter base: The page's own base for relative destinations.
  init(_ destination: String, base: String? = nil) {
    guard !destination.isEmpty else {
      self = .invalid(reason: "the link has no destination")
      return
    }
    if let scheme = Self.scheme(of: destination) {
      self = scheme == "http" || scheme == "https" ? Self.web(destination) : .skipped(scheme: scheme)
    } else if destination.hasPrefix("//") {
      self = Self.web("https:" + destination)
    } else if let base, !destination.hasPrefix("#") {
      self = Self.relative(destination, to: base)
    } else {
      self = Self.local(destination)
    }
  }

  /// The scheme in lower case. One letter is no scheme but a drive.
  private static func scheme(of destination: String) -> String? {
    let bytes = destination.utf8
    guard bytes.first?.isLetter == true, let colon = bytes.firstIndex(of: .colon) else { return nil }
    let scheme = bytes[..<colon]
    let marks = [UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: ".")]
    guard scheme.count > 1, scheme.allSatisfy({ $0.isLetterOrDigit || marks.contains($0) }) else { return nil }
    return Array(scheme).text.lowercased()
  }

  private static func web(_ address: String) -> LinkTarget {
    guard var parts = URLComponents(string: String(address.prefix { $0 != "#" })) ?? lenientParts(address),
      let host = parts.host, !host.isEmpty
    else { return .invalid(reason: "this is no valid address") }
    parts.scheme = parts.scheme?.lowercased()
    parts.encodedHost = parts.encodedHost?.lowercased()
    parts.fragment = nil
    if parts.path.isEmpty { parts.path = "/" }
    if parts.port == (parts.scheme == "https" ? 443 : 80) { parts.port = nil }
    return parts.url.map { .web($0) } ?? .invalid(reason: "this is no valid address")
  }

  /// Addresses with spaces and other letters that must be encoded, as browsers do by themselves.
  private static func lenientParts(_ address: String) -> URLComponents? {
    URL(string: String(address.prefix { $0 != "#" })).flatMap { URLComponents(url: $0, resolvingAgainstBaseURL: true) }
  }

  private static func relative(_ destination: String, to base: String) -> LinkTarget {
    switch LinkTarget(base) {
    case .web(let url):
      guard let resolved = URL(string: destination, relativeTo: url) else {
        return .invalid(reason: "this is no valid address")
      }
      return web(resolved.absoluteString)
    case .local(let path?, _) where !destination.hasPrefix("/"):
      let folder = path.hasSuffix("/") ? path : String(path.prefix(through: path.lastIndex(of: "/") ?? path.startIndex))
      return local((path.contains("/") ? folder : "") + destination)
    case .local, .skipped, .invalid:
      return local(destination)
    }
  }

  private static func local(_ destination: String) -> LinkTarget {
    let parts = destination.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
    let path = parts[0].prefix { $0 != "?" }
    let fragment = parts.count > 1 ? String(parts[1]) : nil
    guard !path.isEmpty else { return .local(path: nil, fragment: fragment) }
    return .local(path: decoded(path), fragment: fragment)
  }

  /// The text that percent signs stand for; text with a wrong one stays as it is.
  private static func decoded(_ text: some StringProtocol) -> String {
    text.removingPercentEncoding ?? String(text)
  }
}

extension URL {
  /// The server: host and, where it is not the usual one, port.
  var server: String {
    let name = host(percentEncoded: false) ?? ""
    return port.map { "\(name):\($0)" } ?? name
  }
}
