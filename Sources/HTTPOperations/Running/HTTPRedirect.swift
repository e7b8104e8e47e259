import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Where a redirect leads, by RFC 9110.
enum HTTPRedirect {
  struct Target {
    let request: URLRequest
    /// Whether the body is sent again.
    let keepsBody: Bool
    /// Whether it leads to another server.
    let isElsewhere: Bool
  }

  private static let fieldsOfBodies = ["Content-Type", "Content-Length", "Content-Encoding", "Transfer-Encoding"]
  private static let fieldsOfOneServer = ["authorization", "cookie", "host", "proxy-authorization"]

  static func isRedirect(_ status: Int) -> Bool {
    [301, 302, 303, 307, 308].contains(status)
  }

  /// - Throws: an ``HTTPError`` if it cannot be followed.
  static func target(
    _ location: String, status: Int, of request: URLRequest, at url: URL?, secretFields: Set<String> = []
  ) throws -> Target {
    let origin = url ?? request.url
    // Several fields are joined like this. As in browsers and curl, the same address may come
    // twice, and an address may have a space that the server has not escaped.
    let parts = location.split(separator: ", ", omittingEmptySubsequences: false)
    let isJoined = parts.dropFirst().allSatisfy { $0.hasPrefix("/") || $0.contains("://") }
    let addresses: Set<Substring> = isJoined ? Set(parts) : [location[...]]
    guard addresses.count == 1, let address = addresses.first else {
      throw HTTPError(.invalidRedirect, url: origin, detail: "it names several addresses")
    }
    guard var destination = URL(string: String(address), relativeTo: origin)?.absoluteURL else {
      throw HTTPError(.invalidRedirect, url: origin, detail: "it leads to what is no address")
    }
    guard destination.isWebAddress else {
      throw HTTPError(.invalidRedirect, url: origin, detail: "it leads to \(destination.textWithoutSecrets)")
    }
    let isElsewhere = origin?.server != destination.server
    // A server does not determine passwords.
    destination = destination.withLowercasedScheme.withUser(of: isElsewhere ? nil : origin)
    var next = request
    next.url = destination
    let method = request.httpMethod ?? "GET"
    let becomesGet = status == 303 ? method != "HEAD" : (status == 301 || status == 302) && method == "POST"
    if becomesGet {
      next.httpMethod = "GET"
      next.httpBodyStream = nil
      next.httpBody = nil
      for field in fieldsOfBodies { next.setValue(nil, forHTTPHeaderField: field) }
    } else if request.httpBodyStream != nil {
      throw HTTPError(.invalidRedirect, url: origin, detail: "its body is a stream, which cannot be sent twice")
    }
    if isElsewhere {
      for field in next.allHTTPHeaderFields?.keys.map({ $0 }) ?? []
      where fieldsOfOneServer.contains(field.lowercased()) || secretFields.contains(field.lowercased()) {
        next.setValue(nil, forHTTPHeaderField: field)
      }
    }
    return Target(request: next, keepsBody: !becomesGet, isElsewhere: isElsewhere)
  }
}

extension URL {
  /// Whether a request can be made to this address.
  var isWebAddress: Bool {
    guard let scheme = scheme?.lowercased(), scheme == "http" || scheme == "https" else { return false }
    return !(host ?? "").isEmpty
  }

  /// Scheme, host and port; nil if no request can be made to this address.
  package var server: String? {
    guard isWebAddress, let scheme = scheme?.lowercased(), let host = hostInAddress?.lowercased() else { return nil }
    return "\(scheme)://\(host):\(port ?? (scheme == "https" ? 443 : 80))"
  }

  /// The same address; the scheme in lower case.
  var withLowercasedScheme: URL {
    guard let scheme, scheme != scheme.lowercased() else { return self }
    var parts = URLComponents(url: self, resolvingAgainstBaseURL: true)
    parts?.scheme = scheme.lowercased()
    return parts?.url ?? self
  }

  /// The same address with the user and the password of another one, or none.
  func withUser(of other: URL?) -> URL {
    guard var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return self }
    let others = other.flatMap { URLComponents(url: $0, resolvingAgainstBaseURL: true) }
    let (user, password) = (others?.percentEncodedUser, others?.percentEncodedPassword)
    guard parts.percentEncodedUser != user || parts.percentEncodedPassword != password else { return self }
    (parts.percentEncodedUser, parts.percentEncodedPassword) = (user, password)
    return parts.url ?? self
  }
}
