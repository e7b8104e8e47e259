import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Where a redirect leads, as RFC 9110 has it.
enum HTTPRedirect {
  struct Target {
    let request: URLRequest
    /// Whether the body is sent again.
    let keepsBody: Bool
  }

  private static let fieldsOfBodies = ["Content-Type", "Content-Length", "Content-Encoding", "Transfer-Encoding"]
  private static let fieldsOfOneServer = ["Authorization", "Cookie", "Host", "Proxy-Authorization"]

  static func isRedirect(_ status: Int) -> Bool {
    [301, 302, 303, 307, 308].contains(status)
  }

  /// - Throws: an ``HTTPError`` if it cannot be followed.
  static func target(_ location: String, status: Int, of request: URLRequest, at url: URL?) throws -> Target {
    let origin = url ?? request.url
    guard let destination = URL(string: location, relativeTo: origin)?.absoluteURL else {
      throw HTTPError(.invalidRedirect, url: origin, detail: "it leads to what is no address")
    }
    guard destination.isWebAddress else {
      throw HTTPError(.invalidRedirect, url: origin, detail: "it leads to \(destination.textWithoutSecrets)")
    }
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
      throw HTTPError(.invalidRedirect, url: origin, detail: "its body is a stream, which can not be sent twice")
    }
    if origin?.server != destination.server {
      for field in fieldsOfOneServer { next.setValue(nil, forHTTPHeaderField: field) }
    }
    return Target(request: next, keepsBody: !becomesGet)
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
    guard isWebAddress, let scheme = scheme?.lowercased(), let host = host?.lowercased() else { return nil }
    return "\(scheme)://\(host):\(port ?? (scheme == "https" ? 443 : 80))"
  }

  /// The address without user, password, query and fragment, which may be nobody's business.
  var textWithoutSecrets: String {
    guard let host else { return scheme.map { "\($0):…" } ?? "“\(path)”" }
    return "\(scheme ?? "")://\(host)\(port.map { ":\($0)" } ?? "")\(path)"
  }
}
