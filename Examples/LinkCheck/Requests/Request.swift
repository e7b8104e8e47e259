import CompositeOperations
import ExampleSupport
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// One HTTP request as an operation: it finishes with whatever the server replied, also with a 404 or a redirect, and
/// fails with a ``TransportError`` when no reply came. Cancelling it cancels the data task.
final class Request: SimpleOperation<Reply>, @unchecked Sendable {  // constants, and a locked box
  enum Method: String, Sendable {
    case head = "HEAD"
    case get = "GET"
  }

  private let session: URLSession
  private let request: URLRequest
  private let task = Shared<URLSessionDataTask?>(nil)

  init(_ method: Method, _ url: URL, timeout: Duration, session: URLSession) {
    var request = URLRequest(url: url)
    request.httpMethod = method.rawValue
    // The operation's timeout ends the request on time, to the millisecond; this one only stands behind it.
    request.timeoutInterval = (timeout / .seconds(1)).rounded(.up) + 5
    // A GET is made where HEAD is refused: one byte of the page is as good as all of it.
    if method == .get { request.setValue("bytes=0-0", forHTTPHeaderField: "Range") }
    self.session = session
    self.request = request
    super.init()
    name = "\(method.rawValue) \(url.absoluteString)"
  }

  override func main() {
    let task = session.dataTask(with: request) { [self] _, response, error in
      if let response = response as? HTTPURLResponse {
        finish(with: Reply(response))
      } else {
        reject(with: TransportError(error))
      }
      // The task is about to end by itself, and must not be cancelled while it is.
      _ = release()
    }
    task.delegate = FinalReply { [weak self] in self?.finish(with: Reply($0)) }
    self.task.withLock { $0 = task }
    task.resume()
    // The cancel may have come while there was no task yet.
    if isCancelled { didCancel() }
  }

  override func didCancel() {
    // Settled here and not when the task says so: whoever presses Ctrl-C does not wait for the network.
    settle(with: .cancelled)
    release()?.cancel()
  }

  /// Lets go of the task, so that it is ended once.
  private func release() -> URLSessionDataTask? {
    task.withLock { task in
      defer { task = nil }
      return task
    }
  }
}

/// Has `URLSession` hand over redirects and demands for a password as they are, instead of acting on them.
private final class FinalReply: NSObject, URLSessionTaskDelegate, Sendable {
  private let reply: @Sendable (HTTPURLResponse) -> Void

  init(_ reply: @escaping @Sendable (HTTPURLResponse) -> Void) {
    self.reply = reply
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    completionHandler(nil)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    // Linux never calls back when nobody has a password, so the reply is taken from here.
    guard let response = challenge.failureResponse as? HTTPURLResponse else {
      return completionHandler(.performDefaultHandling, nil)
    }
    reply(response)
    completionHandler(.cancelAuthenticationChallenge, nil)
  }
}
