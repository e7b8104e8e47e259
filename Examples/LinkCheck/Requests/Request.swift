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
  private let timeout: Duration
  private let running = Shared<Running?>(nil)

  private struct Running {
    let task: URLSessionDataTask
    let countdown: Countdown
  }

  init(_ method: Method, _ url: URL, timeout: Duration, session: URLSession) {
    var request = URLRequest(url: url)
    request.httpMethod = method.rawValue
    // Our own timer ends the request on time, to the millisecond; this one only stands behind it.
    request.timeoutInterval = (timeout / .seconds(1)).rounded(.up) + 5
    // A GET is made where HEAD is refused: one byte of the page is as good as all of it.
    if method == .get { request.setValue("bytes=0-0", forHTTPHeaderField: "Range") }
    self.session = session
    self.request = request
    self.timeout = timeout
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
      release()?.countdown.cancel()
    }
    task.delegate = FinalReply { [weak self] in self?.finish(with: Reply($0)) }
    let countdown = Countdown(timeout) { [weak self, timeout] in
      self?.reject(with: TransportError.timedOut(after: timeout))
      self?.stop()
    }
    running.withLock { $0 = Running(task: task, countdown: countdown) }
    task.resume()
    // The cancel may have come while there was no task yet.
    if isCancelled { didCancel() }
  }

  override func didCancel() {
    // Settled here and not when the task says so: whoever presses Ctrl-C does not wait for the network.
    settle(with: .cancelled)
    stop()
  }

  /// Ends what is still running.
  private func stop() {
    guard let running = release() else { return }
    running.countdown.cancel()
    running.task.cancel()
  }

  /// Lets go of what is running, so that it is ended once.
  private func release() -> Running? {
    running.withLock { running in
      defer { running = nil }
      return running
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
