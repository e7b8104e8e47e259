import CompositeOperations
import Foundation

/// Limits and rules of a request, whatever the server does: the time, the size of an answer, the
/// secret fields, and the servers to trust.
///
/// What exceeds a limit is an ``HTTPError`` that names the limit.
public struct HTTPOptions: Sendable, Hashable {
  package var totalTime: Duration {
    didSet { HTTPOptions.check(totalTime) }
  }
  package var maxBodySize: Int {
    didSet { HTTPOptions.check(maxBodySize, "body") }
  }
  package var maxHeaderSize: Int {
    didSet { HTTPOptions.check(maxHeaderSize, "header") }
  }
  package var secretFields: Set<String>
  package var pinnedKeys: [String: Set<String>]

  /// Makes options. Traps if a limit is negative.
  ///
  /// - Parameters:
  ///   - totalTime: the time of the request with all redirects, from its start to the last byte: 5
  ///     minutes by default. After that it fails with ``HTTPError/Code/timedOut``. The request's
  ///     `timeoutInterval`, which limits the time without bytes, and the session's
  ///     `timeoutIntervalForResource` apply as well.
  ///   - maxBodySize: the maximum number of bytes of a body in memory, unpacked: 64 MiB by default.
  ///     Beyond that the request fails with ``HTTPError/Code/bodyTooLarge``. A download to a file
  ///     has no limit.
  ///   - maxHeaderSize: the maximum number of bytes of the header of an answer: 256 KiB by default.
  ///     Interim answers before it, and the fields after the body, count as well. Beyond that the
  ///     request fails with ``HTTPError/Code/headerTooLarge``. Where `URLSession` makes the
  ///     request, its own limit applies. libcurl has limits that cannot be raised, and beyond which
  ///     the request fails in the same way: 300 KiB for all lines, 100 KiB for one of them, and
  ///     about 4 KiB for a field after the body.
  ///   - secretFields: names of header fields, in any case, that do not follow a redirect to
  ///     another scheme, host or port. `Authorization`, `Cookie`, `Proxy-Authorization`, and the
  ///     fields that the session's configuration adds, never do. A field that the request has
  ///     itself follows, also if the configuration has one of that name, unless it is named here.
  ///   - pinnedKeys: the keys that servers have to prove, by host. Other hosts are trusted as the
  ///     system trusts them. Each key is the SHA-256 of the certificate's SubjectPublicKeyInfo, in
  ///     Base64, as in `pin-sha256` and curl's `--pinnedpubkey`. It is compared with the server's
  ///     own certificate, and not with those that signed it. The system has to trust the
  ///     certificate as well: keys only restrict trust. A connection whose key was not checked is
  ///     not used. The request fails with ``HTTPError/Code/insecureConnection`` if the key is
  ///     another one, without TLS, and where keys cannot be checked (on Linux in a session with
  ///     protocols of its own, and where libcurl is not found). It fails with
  ///     ``HTTPError/Code/invalidRequest`` if a key is not such a hash, or a host is not a host. If
  ///     a host is named in several ways, with capitals for example, all its keys count.
  public init(
    totalTime: Duration = .seconds(300), maxBodySize: Int = 64 << 20, maxHeaderSize: Int = 256 << 10,
    secretFields: Set<String> = [], pinnedKeys: [String: Set<String>] = [:]
  ) {
    HTTPOptions.check(totalTime)
    HTTPOptions.check(maxBodySize, "body")
    HTTPOptions.check(maxHeaderSize, "header")
    self.totalTime = totalTime
    self.maxBodySize = maxBodySize
    self.maxHeaderSize = maxHeaderSize
    self.secretFields = secretFields
    self.pinnedKeys = pinnedKeys
  }

  private static func check(_ totalTime: Duration) {
    require(totalTime >= .zero, "HTTPOptions was given a total time of \(totalTime). Use one that is not negative.")
  }

  private static func check(_ count: Int, _ name: String) {
    require(count >= 0, "HTTPOptions was given \(count) bytes for a \(name). Use 0 or more.")
  }
}

extension HTTPOptions {
  /// The keys of which the server of this address has to prove one; nil if it need not.
  func pins(of url: URL?) -> Set<String>? {
    url?.host.flatMap { HTTPOptions.pins(of: $0, in: pinnedKeys) }
  }

  /// A pin without the prefix that may say what it is.
  static func hash(ofPin pin: String) -> Substring {
    pin.hasPrefix("sha256//") ? pin.dropFirst("sha256//".count) : pin[...]
  }

  /// The first pin that is not a hash, and its host.
  var mistakenPin: (pin: String, host: String)? {
    for (host, pins) in pinnedKeys.sorted(by: { $0.key < $1.key }) {
      let pin = pins.sorted().first { Data(base64Encoded: String(HTTPOptions.hash(ofPin: $0)))?.count != 32 }
      if let pin { return (pin, host) }
    }
    return nil
  }

  /// The first invalid host, whose keys would never be found.
  var mistakenHost: String? {
    pinnedKeys.keys.sorted().first { HTTPOptions.normal($0) == nil }
  }

  static func pins(of host: String, in pinnedKeys: [String: Set<String>]) -> Set<String>? {
    guard !pinnedKeys.isEmpty, let host = normal(host) else { return nil }
    var pins: Set<String>?
    // The same host may be named in several ways.
    for (name, keys) in pinnedKeys where normal(name) == host { pins = (pins ?? []).union(keys) }
    return pins
  }

  /// A host in its form for comparison: in lower case, without a dot at its end, and encoded if it
  /// has other alphabets. Nil if it is invalid.
  private static func normal(_ host: String) -> String? {
    // An address of IPv6 has brackets in a URL, and none by itself. The zone after it is encoded
    // there.
    let parts = host.split(separator: "%", maxSplits: 1)
    let address = parts.first ?? ""
    let zone = parts.count == 2 ? "%25" + (parts[1].hasPrefix("25") ? parts[1].dropFirst(2) : parts[1]) : ""
    let place = address.isAddressWithColons ? "[\(address)\(zone)]" : host
    guard let url = URL(string: "https://\(place)/"), url.path == "/", url.user == nil, url.port == nil,
      url.query == nil, url.fragment == nil, var host = url.host?.lowercased()
    else { return nil }
    if host.hasSuffix(".") { host.removeLast() }
    if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
    return host.isEmpty ? nil : host
  }
}
