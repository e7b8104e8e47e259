import CompositeOperations
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

// Everything in which URLSession on Linux (swift-corelibs-foundation, Swift 6.3) and on Apple platforms differs for this
// package is in this file. What was found on Linux:
//
// - The delegate of a task is told of redirects and challenges only. Data, and what was sent, goes to the session's
//   delegate, which can not be set later. So requests run in a session of our own with the same configuration.
// - A redirect with 307 or 308 loses the body. Header fields for one server, `Authorization` too, are sent to the next. A
//   redirect to `file:///x` becomes one to `/x` on the same server. So redirects are not left to it, anywhere.
// - 401 with a challenge for a password (Basic, Digest) waits for ever if nobody answers the challenge. Answering with a
//   password for Digest ends the process.
// - A file that is uploaded ends the process if the request ends early, cancelled or not: it was being read meanwhile. Of a
//   body in memory, what was sent is missing if the request has to be made again because a kept connection was closed. So
//   every body is sent as a stream, which can be had anew. A stream is sent in chunks, unless a length is given and
//   libcurl is told, by an empty field, not to name an encoding.
// - Answering whether a redirect is followed ends the process if the task was cancelled in between.
// - No stored password is ever proposed: a `URLCredentialStorage` does not find again what was stored in it.
// - With a cache, a task that is started waits for it, and so does its cancel; then both are handed to the work queue one
//   after the other, from another thread. If the task ends in between, the cancel looks for one that is gone, which ends
//   the process ("Trying to access a behaviour for a task that in not in the registry"). Without a cache both are handed
//   over while the work queue is held, so that nothing can come in between. Of the answers to tasks like ours none is ever
//   stored. So our sessions have no cache.
// - `cancel()` waits for the session's work queue, and never returns if it is called there.
// - Timeouts are cut to whole seconds: half a second is none at all, and is over at once.
// - A body that is cut short, and a header that is too long, are unknown errors, told by their texts. What is no HTTP is an
//   unsupported URL.
// - A connection that ends in the middle of the header fields ends the process ("Transfer completed, but there's no
//   response", swift-corelibs-foundation#5285), whoever made the request. Nothing can be done about it from outside.
// - Of an answer with a status from 301 to 308 the delegate is told nothing but the end, and the body is lost, unless it
//   is a redirect that is declined.
// - `URLSession.data(for:)` can deadlock when it is cancelled (swift-corelibs-foundation#5412). It is not used here.

// MARK: - Tasks

/// A task of a session that tells an exchange how it gets on.
final class SessionTask: Sendable {
  private enum Phase {
    case open
    /// The session is being told that a redirect is not followed.
    case answering(isCancelled: Bool)
    case cancelled
  }

  let exchange: HTTPExchange
  #if canImport(FoundationNetworking)
  fileprivate let body: StreamedBody?
  #endif
  private let task: URLSessionTask
  private let phase = LockBox(Phase.open)

  /// Makes a task that has not been resumed.
  init(_ request: URLRequest, uploading upload: HTTPUpload?, in session: URLSession, for exchange: HTTPExchange) {
    self.exchange = exchange
    #if canImport(FoundationNetworking)
    body = StreamedBody(of: request, uploading: upload)
    let (twin, relay) = SessionTwins.twin(of: session)
    task = twin.dataTask(with: body?.request(from: request.withWholeSeconds) ?? request.withWholeSeconds)
    relay.tell(self, about: task)
    #else
    switch upload {
    case nil: task = session.dataTask(with: request)
    case .data(let data): task = session.uploadTask(with: request, from: data)
    case .file(let file): task = session.uploadTask(with: request, fromFile: file)
    }
    task.delegate = TaskRelay(self)
    #endif
  }

  func resume() {
    task.resume()
  }

  /// Ends the task, later: the session may be the one that calls.
  func cancel() {
    DispatchQueue.global().async { self.cancelNow() }
  }

  private func cancelNow() {
    let isNow = phase.withLock { phase in
      switch phase {
      case .open:
        phase = .cancelled
        return true
      case .answering:
        phase = .answering(isCancelled: true)
        return false
      case .cancelled:
        return false
      }
    }
    if isNow { task.cancel() }
  }

  /// Has the session told that a redirect is not followed, never at the same time as a cancel or after one.
  func declineRedirect(_ answer: () -> Void) {
    let isOpen = phase.withLock { phase in
      guard case .open = phase else { return false }
      phase = .answering(isCancelled: false)
      return true
    }
    guard isOpen else { return }
    answer()
    let isCancelled = phase.withLock { phase in
      guard case .answering(isCancelled: true) = phase else {
        phase = .open
        return false
      }
      phase = .cancelled
      return true
    }
    if isCancelled { task.cancel() }
  }
}

extension HTTPExchangeState.Answer {
  init(_ response: HTTPURLResponse) {
    var headers: HTTPHeaders = [:]
    for case (let name as String, let value as String) in response.allHeaderFields { headers[name] = value }
    // The length on the way says nothing about what is unpacked from it.
    var length = headers["Content-Encoding"] == nil ? Int(response.expectedContentLength) : -1
    #if canImport(FoundationNetworking)
    if (301...308).contains(response.statusCode) { length = -1 }
    #endif
    self.init(url: response.url, status: response.statusCode, headers: headers, length: length >= 0 ? length : nil)
  }
}

// MARK: - Being told

#if canImport(FoundationNetworking)

/// Sessions with the configurations of others, and a delegate of ours. They go when the others are gone.
private enum SessionTwins {
  private final class Twin {
    weak var original: URLSession?
    let session: URLSession
    let relay: SessionRelay

    init(of original: URLSession) {
      self.original = original
      relay = SessionRelay()
      // What a session gives is its own, and no copy.
      let configuration = original.configuration.copy() as! URLSessionConfiguration
      configuration.urlCache = nil
      configuration.timeoutIntervalForRequest = configuration.timeoutIntervalForRequest.wholeSeconds
      session = URLSession(configuration: configuration, delegate: relay, delegateQueue: nil)
    }
  }

  private static let twins = LockBox<[ObjectIdentifier: Twin]>([:])

  static func twin(of original: URLSession) -> (URLSession, SessionRelay) {
    let key = ObjectIdentifier(original)
    if let twin = twins.withLock({ $0[key] }), twin.original === original { return (twin.session, twin.relay) }
    let new = Twin(of: original)
    let (twin, orphans) = twins.withLock { twins -> (Twin, [Twin]) in
      // Somebody else may have been first.
      if let twin = twins[key], twin.original === original { return (twin, [new]) }
      let orphans = twins.filter { $0.value.original == nil }
      for orphan in orphans.keys { twins[orphan] = nil }
      twins[key] = new
      return (new, Array(orphans.values))
    }
    for orphan in orphans { orphan.session.finishTasksAndInvalidate() }
    return (twin.session, twin.relay)
  }
}

/// Tells each exchange what its task does.
private final class SessionRelay: NSObject, URLSessionDataDelegate, Sendable {
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
    if let response = response as? HTTPURLResponse { task(dataTask)?.exchange.responded(.init(response)) }
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    task(dataTask)?.exchange.received(data)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData count: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    guard let told = self.task(task), let body = told.body else { return }
    told.exchange.sent(totalBytesSent, of: Int64(body.length))
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
    if !ended.hasAnswer, error == nil, let response = task.response as? HTTPURLResponse {
      ended.task.exchange.responded(.init(response))
    }
    ended.task.exchange.completed(error, endsChallenge: ended.endsChallenge)
  }
}

#else

/// Tells an exchange what its task does. What is not asked for here, such as passwords, the session's delegate is asked.
private final class TaskRelay: NSObject, URLSessionDataDelegate, Sendable {
  private let told: SessionTask

  init(_ told: SessionTask) {
    self.told = told
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    if let response = response as? HTTPURLResponse { told.exchange.responded(.init(response)) }
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    told.exchange.received(data)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData count: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    told.exchange.sent(totalBytesSent, of: totalBytesExpectedToSend)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    told.declineRedirect { completionHandler(nil) }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    told.exchange.completed(error, endsChallenge: false)
  }
}

#endif

// MARK: - Requests and errors

#if canImport(FoundationNetworking)
/// A body that is sent as a stream, and says its length.
private struct StreamedBody {
  let length: Int
  private let upload: HTTPUpload

  /// Nil if there is no body, or the request brings a stream of its own.
  init?(of request: URLRequest, uploading upload: HTTPUpload?) {
    guard let upload = upload ?? request.httpBody.map({ .data($0) }) else { return nil }
    self.upload = upload
    switch upload {
    case .data(let data): length = data.count
    case .file(let file):
      // Of what a link leads to, as is what will be read.
      let path = file.resolvingSymlinksInPath().path
      length = (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? NSNumber)?.intValue ?? 0
    }
  }

  func stream() -> InputStream? {
    switch upload {
    case .data(let data): InputStream(data: data)
    case .file(let file): InputStream(url: file)
    }
  }

  func request(from request: URLRequest) -> URLRequest {
    var request = request
    request.httpBody = nil
    guard length > 0 else { return request }
    request.httpBodyStream = stream()
    request.setValue("\(length)", forHTTPHeaderField: "Content-Length")
    request.setValue(" ", forHTTPHeaderField: "Transfer-Encoding")
    return request
  }
}

extension URLRequest {
  /// The request with a timeout that is a whole number of seconds, not a shorter one.
  fileprivate var withWholeSeconds: URLRequest {
    guard timeoutInterval != timeoutInterval.wholeSeconds else { return self }
    var request = self
    request.timeoutInterval = timeoutInterval.wholeSeconds
    return request
  }
}

extension TimeInterval {
  /// Foundation makes milliseconds of the whole seconds of a timeout: of less than one it makes none, and one that does not
  /// fit into an integer ends the process.
  fileprivate var wholeSeconds: TimeInterval { isNaN ? 60 : Swift.max(0, Swift.min(rounded(.up), 1_000_000_000)) }
}
#endif

extension HTTPError {
  /// Sorts an error of `URLSession`.
  ///
  /// - Parameter hasAnswer: whether an answer had begun to come.
  init(_ error: any Error, url: URL?, hasAnswer: Bool) {
    self.init(Self.code(of: error, hasAnswer: hasAnswer), url: url, underlying: error)
  }

  private static func code(of error: any Error, hasAnswer: Bool) -> Code {
    guard let error = error as? URLError else { return .other }
    switch error.code {
    case .timedOut: return .timedOut
    case .cannotFindHost, .dnsLookupFailed: return .hostNotFound
    case .cannotConnectToHost: return .connectionRefused
    case .notConnectedToInternet, .internationalRoamingOff, .dataNotAllowed: return .notConnected
    case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
      .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid, .clientCertificateRejected,
      .clientCertificateRequired:
      return .insecureConnection
    case .fileDoesNotExist, .noPermissionsToReadFile, .fileIsDirectory: return .unreadableFile
    default: break
    }
    // Whatever it is called, there is a header and not all of the body.
    if hasAnswer { return .truncatedBody }
    switch error.code {
    case .badServerResponse, .networkConnectionLost, .zeroByteResource: return .connectionLost
    // The address was checked before.
    case .cannotParseResponse, .unsupportedURL: return .malformedAnswer
    case .badURL: return .invalidURL
    case .dataLengthExceedsMaximum: return .headerTooLarge
    default: return isAboutLongHeader(error) ? .headerTooLarge : .connectionLost
    }
  }

  private static func isAboutLongHeader(_ error: URLError) -> Bool {
    #if canImport(FoundationNetworking)
    // The texts of libcurl up to 7.88, since 8.0, and of its limit for all fields together.
    let text = error.localizedDescription.lowercased()
    return ["out of memory", "too large", "grew larger", "larger than allowed"].contains { text.contains($0) }
    #else
    return false
    #endif
  }
}
