import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension URLSession {
  /// A session for checking links: it remembers nothing, and leaves it to us how many requests a
  /// server gets.
  static func forLinks(perHost: Int) -> URLSession {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = perHost
    configuration.urlCache = nil
    configuration.urlCredentialStorage = nil
    configuration.httpCookieStorage = nil
    configuration.httpShouldSetCookies = false
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    configuration.httpAdditionalHeaders = ["User-Agent": "LinkCheck/1.0", "Accept": "text/html, */*;q=0.8"]
    return URLSession(configuration: configuration)
  }
}
