#if os(Linux) || os(Android)
import Foundation
import FoundationNetworking

// What RFC 6265 requires, and Foundation on Linux leaves out.
extension HTTPCookie {
  /// Reads the value of a `Set-Cookie`. Nil if it is no cookie, or one that the server may not set.
  ///
  /// Foundation's own reader ends the process at some characters beyond ASCII. It also lets a comma
  /// end a cookie, and a cookie with a `Max-Age` live for ever.
  convenience init?(_ line: String, from url: URL) {
    let parts = line.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
    guard case (let name, let value?) = HTTPCookie.pair(parts[0]), !name.isEmpty else { return nil }
    var properties: [HTTPCookiePropertyKey: Any] = [.name: name, .value: value, .path: HTTPCookie.folder(of: url)]
    var (domain, age) = ("", nil as Double?)
    for part in parts.dropFirst() {
      let (name, given) = HTTPCookie.pair(part)
      let value = given ?? ""
      switch name.lowercased() {
      case "domain": domain = value
      case "path" where value.utf8.first == UInt8(ascii: "/"): properties[.path] = value
      case "max-age": age = HTTPCookie.number(value) ?? age
      // Foundation reads the date, and ends the process here as well.
      case "expires" where value.utf8.allSatisfy { $0 < 0x80 }: properties[.expires] = value
      // Foundation's file does not note that a cookie is a secure one, so it stays out of that.
      case "secure": (properties[.secure], properties[.discard]) = ("TRUE", "TRUE")
      case "httponly": properties[HTTPCookiePropertyKey("HttpOnly")] = "TRUE"
      default: break
      }
    }
    // The storage deletes a cookie when one with its name comes that has expired.
    if let age { properties[.expires] = age > 0 ? Date(timeIntervalSinceNow: min(age, .endless)) : .distantPast }
    if properties[.secure] != nil, url.scheme != "https" { return nil }
    guard let reach = HTTPCookie.reach(ofDomain: domain, from: url) else { return nil }
    properties[.domain] = reach
    self.init(properties: properties)
  }

  /// What is before the first `=`, and what is behind it.
  private static func pair(_ part: Substring.UTF8View) -> (String, String?) {
    let halves = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      .map { String(Substring($0)).trimmingCharacters(in: .whitespaces) }
    return (halves[0], halves.count > 1 ? halves[1] : nil)
  }

  /// Digits, which a minus may precede; however many.
  private static func number(_ text: String) -> Double? {
    let digits = text.utf8.first == UInt8(ascii: "-") ? text.utf8.dropFirst() : text.utf8[...]
    return digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Double(text) : nil
  }

  /// The path of a cookie that names none.
  private static func folder(of url: URL) -> String {
    let path = url.path(percentEncoded: true)
    let folder = path.lastIndex(of: "/").map { path[..<$0] } ?? ""
    return folder.isEmpty ? "/" : String(folder)
  }

  /// The hosts that a cookie is for, as Foundation names them: with a dot before it, those in the
  /// domain, too. Nil if the server may not set it: a cookie for a whole top level domain, or for a
  /// part of a numeric address, would go to other servers. The storage refuses other domains.
  private static func reach(ofDomain domain: String, from url: URL) -> String? {
    guard let host = url.host?.lowercased() else { return nil }
    let domain = (domain.hasPrefix(".") ? String(domain.dropFirst()) : domain).lowercased()
    if domain.isEmpty { return host }
    let isInNumbers = host.contains(":") || host.split(separator: ".").last.map { Int($0) != nil } ?? true
    if isInNumbers || !domain.contains(".") { return domain == host ? host : nil }
    return ".\(domain)"
  }

  /// In seconds since some moment.
  var timeOfCreation: Double { properties?[HTTPCookiePropertyKey("Created")] as? Double ?? 0 }

  /// Whether the cookie may go to an address that has its domain.
  func isMeant(for url: URL) -> Bool {
    if isSecure, url.scheme != "https" { return false }
    if let expiresDate, expiresDate <= Date() { return false }
    // The path as it is sent: that of Foundation lacks a slash at the end.
    let sent = url.path(percentEncoded: true)
    let place = sent.isEmpty ? "/" : sent
    return place == path || place.hasPrefix(path.hasSuffix("/") ? path : "\(path)/")
  }
}
#endif
