#if !canImport(FoundationNetworking)
import Foundation

/// How a session that makes requests in place of another one differs from that.
struct TwinSession: Hashable, Sendable {
  /// Without the header fields of the configuration: the request goes to a server that they are not
  /// meant for.
  var isForeign = false
  /// The keys that servers have to prove, by host. Such a request needs its own connections, since
  /// a kept connection does not prove its key again; and its own delegate, since the delegate of a
  /// session may be called before that of a task.
  var pinnedKeys: [String: Set<String>] = [:]
  /// With its own delegate queue: that of the other session may call out of order.
  var isOrdered = false

  /// What a request needs; nil if the session itself can make it.
  init?(for request: URLRequest, to place: HTTPHopPlace, options: HTTPOptions, in session: URLSession) {
    isForeign = place == .otherServer && session.configuration.httpAdditionalHeaders?.isEmpty == false
    if options.pins(of: request.url) != nil { pinnedKeys = options.pinnedKeys }
    // No program chooses the queue of the shared session.
    isOrdered = session !== URLSession.shared && session.delegateQueue.maxConcurrentOperationCount != 1
    if !isForeign, pinnedKeys.isEmpty, !isOrdered { return nil }
  }

  func session(insteadOf original: URLSession) -> URLSession {
    let configuration = original.configuration.copy() as! URLSessionConfiguration
    if isForeign { configuration.httpAdditionalHeaders = nil }
    return URLSession(
      configuration: configuration, delegate: TwinDelegate(of: original, pinnedKeys: pinnedKeys),
      delegateQueue: isOrdered ? nil : original.delegateQueue)
  }
}

/// The delegate of a session that makes requests in place of another one.
///
/// It forwards calls to the other session's delegate, in the name of that session, until that is
/// invalidated. It retains neither. It has no method for challenges of a session, so `URLSession`
/// delivers all of them with their task.
final class TwinDelegate: NSObject, URLSessionDataDelegate, @unchecked Sendable {  // a constant, and a weak reference
  private weak var original: URLSession?
  private let pinnedKeys: [String: Set<String>]

  private static let challengesOfSessions = [
    NSURLAuthenticationMethodServerTrust, NSURLAuthenticationMethodClientCertificate, NSURLAuthenticationMethodNTLM,
    NSURLAuthenticationMethodNegotiate,
  ]

  init(of original: URLSession, pinnedKeys: [String: Set<String>]) {
    self.original = original
    self.pinnedKeys = pinnedKeys
  }

  private var delegate: (any URLSessionTaskDelegate)? { original?.delegate as? any URLSessionTaskDelegate }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    let space = challenge.protectionSpace
    var answer = completionHandler
    if space.authenticationMethod == NSURLAuthenticationMethodServerTrust,
      let pins = HTTPOptions.pins(of: space.host, in: pinnedKeys)
    {
      let isPinned = space.serverTrust.map { PinnedServer.isTrusted($0, pins: pins) } ?? false
      guard isPinned else { return completionHandler(.cancelAuthenticationChallenge, nil) }
      // Keys only restrict trust: the delegate may refuse the server. If it accepts it, the system
      // still checks the rest of the certificate.
      answer = { answer, _ in completionHandler(answer == .useCredential ? .performDefaultHandling : answer, nil) }
    }
    guard let original else { return answer(.performDefaultHandling, nil) }
    // As URLSession does: first the method for the session, then the method for the task.
    var wasAsked: Void?
    if TwinDelegate.challengesOfSessions.contains(space.authenticationMethod) {
      wasAsked = original.delegate?.urlSession?(original, didReceive: challenge, completionHandler: answer)
    }
    if wasAsked == nil {
      wasAsked = delegate?.urlSession?(original, task: task, didReceive: challenge, completionHandler: answer)
    }
    if wasAsked == nil { answer(.performDefaultHandling, nil) }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
  ) {
    let wasAsked: Void? = original.flatMap {
      delegate?.urlSession?($0, task: task, needNewBodyStream: completionHandler)
    }
    if wasAsked == nil { completionHandler(nil) }
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse,
    completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
  ) {
    let wasAsked: Void? = original.flatMap {
      (delegate as? any URLSessionDataDelegate)?.urlSession?(
        $0, dataTask: dataTask, willCacheResponse: proposedResponse, completionHandler: completionHandler)
    }
    if wasAsked == nil { completionHandler(proposedResponse) }
  }

  func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
    if let original { delegate?.urlSession?(original, taskIsWaitingForConnectivity: task) }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
    if let original { delegate?.urlSession?(original, task: task, didFinishCollecting: metrics) }
  }
}
#endif
