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

  /// Makes one HTTP request: it finishes with whatever the server replied, also with a 404 or a
  /// redirect, and fails with a ``TransportError`` when no reply came.
  static func operation(
    _ method: Method, _ url: URL, timeout: Duration, session: URLSession
  ) -> SimpleOperation<Reply> {
    var request = URLRequest(url: url)
    request.httpMethod = method.rawValue
    // A timeout around this operation ends the request on time, to the millisecond; these only
    // stand behind it.
    let patience = timeout + .seconds(5)
    request.timeoutInterval = (patience / .seconds(1)).rounded(.up)
    if method == .get {
      // A GET is made where HEAD is refused: one byte of the page is as good as all of it, if it is
      // not one of a packed page.
      request.setValue("bytes=0-0", forHTTPHeaderField: "Range")
      request.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
    }
    // No status is a success: of an answer that is none as much of the body is kept as is said
    // here, and no more is read.
    return HTTPOperation(
      request, transfer: .download(to: URL(filePath: "/dev/null")), session: session, acceptedStatuses: 0..<0,
      maxRedirects: 0, options: HTTPOptions(totalTime: patience, maxBodySize: 64 << 10)
    )
    .map { Reply(status: $0.status) }
    .recover { error in
      guard let answer = error as? HTTPStatusError else { throw TransportError(error) }
      return SimpleOperation { $0.finish(with: Reply(answer)) }
    }
  }
}
