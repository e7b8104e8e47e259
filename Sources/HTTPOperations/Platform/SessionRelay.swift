import CompositeOperations
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking

/// Tells each exchange what its task does.
final class SessionRelay: NSObject, URLSessionDataDelegate, Sendable {
  private struct Told {
    let task: SessionTask
    var endsChallenge = false
    var hasAnswer = false
  }

  private let told = LockBox<[Int: Told]>([:])

  func tell(_ told: SessionTask, about task: URLSessionTask) {
    self.told.withLock { $0[task.taskIdentifier] = Told(task: told) }
  }

  private func task(_ task: URLSessionTask) -> SessionTask? {
    told.withLock { $0[task.taskIdentifier]?.task }
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    told.withLock { $0[dataTask.taskIdentifier]?.hasAnswer = true }
    task(dataTask)?.responded(response)
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    task(dataTask)?.received(data)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData count: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    guard let told = self.task(task), let body = told.body else { return }
    told.sent(totalBytesSent, of: Int64(body.length))
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
  ) {
    completionHandler(self.task(task)?.body?.stream())
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    self.task(task)?.declineRedirect { completionHandler(nil) }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    let isBasic = challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodHTTPBasic
    if isBasic, challenge.previousFailureCount == 0, let credential = challenge.proposedCredential {
      return completionHandler(.useCredential, credential)
    }
    told.withLock { $0[task.taskIdentifier]?.endsChallenge = true }
    completionHandler(.cancelAuthenticationChallenge, nil)
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    guard let ended = told.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else { return }
    if !ended.hasAnswer, error == nil, let response = task.response { ended.task.responded(response) }
    ended.task.completed(error, endsChallenge: ended.endsChallenge)
  }
}

#else

/// Tells an exchange what its task does. What is not asked for here, such as passwords, the
/// session's delegate is asked.
final class TaskRelay: NSObject, URLSessionDataDelegate, Sendable {
  private let told: SessionTask

  init(_ told: SessionTask) {
    self.told = told
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    told.responded(response)
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    told.received(data)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData count: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    told.sent(totalBytesSent, of: totalBytesExpectedToSend)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    told.declineRedirect { completionHandler(nil) }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    told.completed(error)
  }
}

#endif
