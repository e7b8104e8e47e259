#if os(Linux) || os(Android)
import Foundation

/// The proxies of a session's configuration. Without any, libcurl uses `http_proxy`, `https_proxy`,
/// `all_proxy` and `no_proxy` of the environment, all but the first also in capitals. An address
/// may have a user and a password there.
struct CurlProxies: Sendable {
  private var byScheme: [String: String] = [:]
  private let isGiven: Bool
  private let user: String?
  private let password: String?
  private let exceptions: [String]
  private let excludesSimpleNames: Bool

  /// - Parameter dictionary: with the keys that `URLSession` has for it on Apple platforms:
  ///   `HTTPEnable`, `HTTPProxy`, `HTTPPort`, the same with `HTTPS`, `ExceptionsList`,
  ///   `ExcludeSimpleHostnames`, `kCFProxyUsernameKey` and `kCFProxyPasswordKey`. Nil asks the
  ///   environment.
  init(_ dictionary: [AnyHashable: Any]?) {
    isGiven = dictionary != nil
    func isSet(_ key: String) -> Bool {
      dictionary?[key] as? Bool == true || (dictionary?[key] as? NSNumber)?.boolValue == true
    }
    for scheme in ["http", "https"] {
      let prefix = scheme.uppercased()
      guard let dictionary, let host = dictionary["\(prefix)Proxy"] as? String, isSet("\(prefix)Enable") else {
        continue
      }
      let port = dictionary["\(prefix)Port"].map { ":\($0)" } ?? ""
      byScheme[scheme] = "http://\(host.isAddressWithColons ? "[\(host)]" : host)\(port)"
    }
    user = dictionary?["kCFProxyUsernameKey"] as? String
    password = dictionary?["kCFProxyPasswordKey"] as? String
    exceptions = (dictionary?["ExceptionsList"] as? [Any] ?? []).compactMap { ($0 as? String)?.lowercased() }
    excludesSimpleNames = isSet("ExcludeSimpleHostnames")
  }

  /// The proxy that the session names for an address; nil if it names none.
  func proxy(for url: URL) -> String? { isExcepted(url.host ?? "") ? nil : byScheme[url.scheme ?? ""] }

  /// The proxy that the session names for an address, for messages. Its host may have a user and a
  /// password before it, with any characters.
  func name(for url: URL) -> String? {
    proxy(for: url).map { proxy in
      proxy.lastIndex(of: "@").map { "http://\(proxy[proxy.index(after: $0)...])" } ?? proxy
    }
  }

  func prepare(_ handle: CurlHandle, for url: URL) {
    guard isGiven else { return }
    let proxy = proxy(for: url)
    // Empty text means no proxy, whatever the environment says.
    handle.set(CurlOption.proxy, proxy ?? "")
    handle.set(CurlOption.noProxy, "")
    guard proxy != nil, let user else { return }
    handle.set(CurlOption.proxyUser, user)
    handle.set(CurlOption.proxyPassword, password ?? "")
  }

  /// Whether requests to a host use no proxy.
  func isExcepted(_ host: String) -> Bool {
    var host = host.lowercased()
    if host.hasSuffix(".") { host.removeLast() }
    if excludesSimpleNames, !host.contains(where: { $0 == "." || $0 == ":" }) { return true }
    return exceptions.contains { exception in
      if exception.hasPrefix("*") { return host.hasSuffix(exception.dropFirst()) }
      if exception.hasPrefix(".") { return host.hasSuffix(exception) }
      return host == exception || CurlProxies.isAddress(host, in: exception)
    }
  }

  /// Whether an address of IPv4 is in a range such as `169.254/16`.
  private static func isAddress(_ host: String, in range: String) -> Bool {
    let parts = range.split(separator: "/", maxSplits: 1)
    guard parts.count == 2, let bits = Int(parts[1]), (0...32).contains(bits), let start = number(parts[0]),
      host.split(separator: ".").count == 4, let address = number(host[...])
    else { return false }
    return bits == 0 || (address ^ start) >> (32 - bits) == 0
  }

  /// An address of IPv4 as a number. What is missing at its end is 0.
  private static func number(_ text: Substring) -> UInt32? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    let bytes = parts.compactMap { UInt8($0) }
    guard (1...4).contains(parts.count), bytes.count == parts.count else { return nil }
    return (0..<4).reduce(0) { $0 << 8 | ($1 < bytes.count ? UInt32(bytes[$1]) : 0) }
  }
}
#endif
