import CompositeOperations
import Foundation

/// What holds for a request whatever the server does: how long it may take, how much of an answer is taken, what is secret, and
/// which servers are trusted.
///
/// What is beyond a limit is an ``HTTPError`` that names the limit. Traps if a limit is set that is negative.
public struct HTTPOptions: Sendable, Hashable {
  /// How long the request may take, with all redirects, from its start to the last byte: 5 minutes unless set otherwise.
  /// ``HTTPError/Code/timedOut`` after that. It counts beside the request's `timeoutInterval`, which is how long nothing may come
  /// or go, and the session's `timeoutIntervalForResource`.
  public var totalTime: Duration {
    didSet { HTTPOptions.check(totalTime) }
  }
  /// How many bytes a body may have, unpacked, that is kept in memory: 64 MiB unless set otherwise.
  /// ``HTTPError/Code/bodyTooLarge`` beyond that. A download to a file has no limit.
  public var bodyInMemory: Int {
    didSet { HTTPOptions.check(bodyInMemory, "body") }
  }
  /// How many bytes the header of an answer may have, together with interim answers before it and the fields after the body:
  /// 256 KiB unless set otherwise. ``HTTPError/Code/headerTooLarge`` beyond that. Where `URLSession` makes the request, the
  /// limit is its own; libcurl has one of 300 KiB beside this.
  public var headerSize: Int {
    didSet { HTTPOptions.check(headerSize, "header") }
  }
  /// Names of header fields, in any case, that a redirect does not take to another scheme, host or port. `Authorization`,
  /// `Cookie`, `Proxy-Authorization` and the fields of the session's configuration never go there.
  public var secretFields: Set<String>
  /// The keys that servers have to prove, by host; a host that is not among them is trusted as the system trusts it. Each key
  /// is the SHA-256 of the certificate's SubjectPublicKeyInfo, in Base64, as `pin-sha256` and curl's `--pinnedpubkey` have it.
  ///
  /// The certificate has to be right for the system as well: this is a restriction, and no other way to trust. It is compared with
  /// the server's own certificate, and not with those that signed it. A connection that was made without a look at the key is not
  /// used. With another key, without TLS, and where nobody can look at keys (on Linux in a session with protocols of its own, and
  /// where libcurl is not found), the request fails with ``HTTPError/Code/insecureConnection``; with what is no such hash or no
  /// host, with ``HTTPError/Code/invalidRequest``. The keys of a host that is named in several ways, with capitals for example, all
  /// count.
  public var pinnedKeys: [String: Set<String>]

  /// Makes options. Traps if a limit is negative.
  public init(
    totalTime: Duration = .seconds(300), bodyInMemory: Int = 64 << 20, headerSize: Int = 256 << 10,
    secretFields: Set<String> = [], pinnedKeys: [String: Set<String>] = [:]
  ) {
    HTTPOptions.check(totalTime)
    HTTPOptions.check(bodyInMemory, "body")
    HTTPOptions.check(headerSize, "header")
    self.totalTime = totalTime
    self.bodyInMemory = bodyInMemory
    self.headerSize = headerSize
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
  /// The keys of which the server of this address has to prove one; nil if any will do.
  func pins(of url: URL?) -> Set<String>? {
    url?.host.flatMap { HTTPOptions.pins(of: $0, in: pinnedKeys) }
  }

  /// A pin without the word that may say what it is.
  static func hash(ofPin pin: String) -> Substring {
    pin.hasPrefix("sha256//") ? pin.dropFirst("sha256//".count) : pin[...]
  }

  /// The first pin that is no hash, and its host.
  var mistakenPin: (pin: String, host: String)? {
    for (host, pins) in pinnedKeys.sorted(by: { $0.key < $1.key }) {
      let pin = pins.sorted().first { Data(base64Encoded: String(HTTPOptions.hash(ofPin: $0)))?.count != 32 }
      if let pin { return (pin, host) }
    }
    return nil
  }

  /// The first host that is none: its keys would be looked for in vain.
  var mistakenHost: String? {
    pinnedKeys.keys.sorted().first { HTTPOptions.normal($0) == nil }
  }

  static func pins(of host: String, in pinnedKeys: [String: Set<String>]) -> Set<String>? {
    guard !pinnedKeys.isEmpty, let host = normal(host) else { return nil }
    var pins: Set<String>?
    // The same host may have been named in several ways.
    for (name, keys) in pinnedKeys where normal(name) == host { pins = (pins ?? []).union(keys) }
    return pins
  }

  /// A host as it is compared, in lower case, without a dot at its end, and as names of other alphabets are asked for. Nil if it is none.
  private static func normal(_ host: String) -> String? {
    // An address of IPv6 has brackets in a URL, and none by itself.
    let isAddress = host.count { $0 == ":" } > 1 && host.allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." }
    guard let url = URL(string: "https://\(isAddress ? "[\(host)]" : host)/"), url.path == "/", url.user == nil,
      url.port == nil, url.query == nil, url.fragment == nil, var host = url.host?.lowercased()
    else { return nil }
    if host.hasSuffix(".") { host.removeLast() }
    if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
    return host.isEmpty ? nil : host
  }
}
