import CompositeOperations
import ExampleSupport
import Foundation
import HTTPOperations

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// How a server is asked for a link.
enum Request {
  enum Method: String, Sendable {
    case head = "HEAD"
    case get = "GET"
  }

  /// Makes one HTTP request: it finishes with whatever the server replied, also with a 404 or a redirect, and fails with a
  /// ``TransportError`` when no reply came.
  static func operation(
    _ method: Method, _ url: URL, timeout: Duration, session: URLSession
  ) -> SimpleOperation<Reply> {
    var request = URLRequest(url: url)
    request.httpMethod = method.rawValue
    // A timeout around this operation ends the request on time, to the millisecond; these only stand behind it.
    let patience = timeout + .seconds(5)
    request.timeoutInterval = (patience / .seconds(1)).rounded(.up)
    if method == .get {
      // A GET is made where HEAD is refused: one byte of the page is as good as all of it, if it is not one of a packed page.
      request.setValue("bytes=0-0", forHTTPHeaderField: "Range")
      request.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
    }
    return HTTPOperation(
      request, session: session, acceptedStatuses: nil, maxRedirects: 0,
      options: HTTPOptions(totalTime: patience, bodyInMemory: 8 << 20)
    )
    .map { Reply($0) }
    .recover { error in
      // The server sends all of a page, and more than anybody reads: it is there.
      guard (error as? HTTPError)?.code == .bodyTooLarge else { throw TransportError(error) }
      return SimpleOperation { $0.finish(with: Reply(status: 200)) }
    }
  }
}
