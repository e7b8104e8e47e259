import CompositeOperations
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The state of a request and its answer: as many hops as there are redirects, then one end.
///
///     pending ──start──▶ asking ──responded──▶ answering ──completed──▶ ended
///                          ▲                       │
///                          └────────follow─────────┘
///
/// A cancel, a failure on this side, or enough of a body ends the hop under way. The end comes when
/// the transport reports it.
struct HTTPExchangeState: Sendable {
  enum Destination: Equatable {
    /// The body is kept in memory, up to the limit.
    case memory(limit: Int)
    case file(URL)
    /// The body of a redirect that is followed is not wanted.
    case nowhere
  }

  enum Completion {
    case follow
    case succeed(HTTPResponse)
    case fail(any Error)
    case cancel
  }

  /// Whether the hop goes on after a part of the body.
  enum Received {
    /// More may come. The progress so far, if it is known.
    case more((count: Int, total: Int)?)
    /// No more is wanted.
    case enough
  }

  struct Answer {
    var url: URL?
    var status: Int
    var headers: HTTPHeaders
    /// The length of the body, if the server says it.
    var length: Int?
  }

  static let longestErrorBody = 1 << 20
  /// How much of the body of a redirect is read, so that its connection can be reused.
  private static let longestRedirectBody = 1 << 16

  let transfer: HTTPTransfer
  let options: HTTPOptions
  private let acceptedStatuses: Range<Int>?
  private let maxRedirects: Int

  /// The request of the hop under way, or of the next hop.
  private(set) var request: URLRequest
  /// The upload; nil if there is none, or a redirect turned the request into a GET.
  private(set) var upload: HTTPUpload?
  /// Whether the next hop goes where the request was meant to go.
  private(set) var place = HTTPHopPlace.ownServer
  private(set) var isCancelled = false
  private var redirectCount = 0
  private var answer: Answer?
  private var destination = Destination.nowhere
  private var next: HTTPRedirect.Target?
  private var body = Data()
  private var receivedCount: Int64 = 0
  private var ownFailure: (any Error)?
  private var hasEnough = false
  /// The names of fields that are not sent to other servers, in lower case.
  private var secretFields: Set<String>

  init(
    request: URLRequest, transfer: HTTPTransfer, options: HTTPOptions, acceptedStatuses: Range<Int>?, maxRedirects: Int
  ) {
    self.request = request
    // Foundation on Linux knows only schemes in lower case, and traps if the address of a request
    // without one is set.
    if let url = request.url?.withLowercasedScheme, url != request.url { self.request.url = url }
    secretFields = Set(options.secretFields.map { $0.lowercased() })
    self.transfer = transfer
    self.options = options
    self.acceptedStatuses = acceptedStatuses
    self.maxRedirects = maxRedirects
    if case .upload(let upload) = transfer { self.upload = upload }
  }

  // MARK: - Inputs

  /// Fails if no request may have these header fields.
  mutating func check(_ fields: HTTPHeaders) {
    do { try fields.check(for: request.url) } catch { fail(error) }
  }

  /// Adds header fields of the session that the request does not have. They are only for its own
  /// server.
  mutating func add(_ fields: HTTPHeaders) {
    for (name, value) in fields.dictionary where request.value(forHTTPHeaderField: name) == nil {
      request.setValue(value, forHTTPHeaderField: name)
      secretFields.insert(name.lowercased())
    }
  }

  /// Sets header fields, which replace those of the request.
  mutating func set(_ fields: HTTPHeaders) {
    check(fields)
    for (name, value) in fields.dictionary { request.setValue(value, forHTTPHeaderField: name) }
  }

  mutating func cancel() {
    isCancelled = true
  }

  /// Fails the request for a reason on this side, such as a file that cannot be written. The first
  /// failure counts.
  mutating func fail(_ error: any Error) {
    if ownFailure == nil { ownFailure = error }
  }

  /// Whether no further hop is wanted.
  var isOver: Bool { isCancelled || ownFailure != nil }

  /// The failure on this side, if there is one.
  var mistake: (any Error)? { ownFailure }

  /// The total time is over.
  mutating func timedOut(after time: Duration) {
    let detail = "it was not complete after \(time), which is all the time it has"
    fail(HTTPError(.timedOut, url: request.url, cause: URLError(.timedOut), detail: detail))
  }

  /// Nothing was sent or received for too long.
  mutating func idled(for time: Duration) {
    let detail = "nothing came or went for \(time)"
    fail(HTTPError(.timedOut, url: request.url, cause: URLError(.timedOut), detail: detail))
  }

  /// The header of an answer has come. Returns where its body goes.
  mutating func responded(_ answer: Answer) -> Destination {
    self.answer = answer
    body = Data()
    receivedCount = 0
    hasEnough = false
    next = nil
    destination = destination(for: answer)
    return destination
  }

  mutating func received(_ data: Data) -> Received {
    receivedCount += Int64(data.count)
    switch destination {
    case .memory(let limit):
      guard limit < .max || receivedCount <= options.maxBodySize else {
        fail(HTTPError(.bodyTooLarge, url: request.url, detail: "more than \(options.maxBodySize) bytes"))
        return .enough
      }
      body.append(data.prefix(max(0, limit - body.count)))
      hasEnough = body.count >= limit && limit < .max
    case .nowhere:
      hasEnough = receivedCount > Int64(Self.longestRedirectBody)
    case .file:
      break
    }
    if hasEnough { return .enough }
    guard destination != .nowhere, upload == nil, let length = answer?.length, length > 0 else { return .more(nil) }
    return .more((Int(clamping: receivedCount), length))
  }

  /// The hop is over. Returns how the request ends, or that another hop follows.
  ///
  /// - Parameter endsChallenge: whether it ended because no password was given.
  mutating func completed(_ end: HTTPHopEnd, endsChallenge: Bool) -> Completion {
    if isCancelled { return .cancel }
    if let ownFailure { return .fail(ownFailure) }
    // The body of a redirect is not wanted, whatever became of it.
    if let next {
      request = next.request
      if next.isElsewhere { place = .otherServer }
      if !next.keepsBody { upload = nil }
      redirectCount += 1
      self.answer = nil
      self.next = nil
      return .follow
    }
    // Without a password, the session reports a cancel; the answer that came counts.
    if !hasEnough, !(endsChallenge && answer != nil), let failure = failure(end) { return failure }
    guard let answer else { return .fail(HTTPError(.notHTTP, url: request.url)) }
    if !hasEnough, let length = answer.length, receivedCount < Int64(length), destination != .nowhere, hasBody(answer) {
      return .fail(HTTPError(.truncatedBody, url: answer.url, detail: "\(receivedCount) of \(length) bytes came"))
    }
    return completion(of: answer)
  }

  // MARK: - What follows

  private mutating func destination(for answer: Answer) -> Destination {
    if maxRedirects > 0, let location = answer.headers["Location"], HTTPRedirect.isRedirect(answer.status) {
      do {
        guard redirectCount < maxRedirects else {
          throw HTTPError(.tooManyRedirects, url: request.url, detail: "\(maxRedirects) were followed")
        }
        next = try HTTPRedirect.target(
          location, status: answer.status, of: request, at: answer.url, secretFields: secretFields)
      } catch {
        fail(error)
      }
      return .nowhere
    }
    guard case .download(let file) = transfer else { return .memory(limit: .max) }
    return isAccepted(answer.status) ? .file(file) : .memory(limit: min(Self.longestErrorBody, options.maxBodySize))
  }

  private func completion(of answer: Answer) -> Completion {
    guard isAccepted(answer.status) else {
      return .fail(HTTPStatusError(url: answer.url, status: answer.status, headers: answer.headers, body: body))
    }
    var file: URL?
    if case .file(let url) = destination { file = url }
    return .succeed(
      HTTPResponse(url: answer.url, status: answer.status, headers: answer.headers, body: body, file: file))
  }

  private func failure(_ end: HTTPHopEnd) -> Completion? {
    switch end {
    case .completed, .stopped: nil
    // By the session: the server proved none of the pinned keys, the session's delegate does not
    // trust the server, or the app invalidated the session.
    case .cancelled:
      .fail(
        request.url?.scheme == "https" && answer == nil
          ? HTTPError(.insecureConnection, url: request.url, cause: URLError(.cancelled), detail: refusal)
          : HTTPError(
            .other, url: request.url, cause: URLError(.cancelled), detail: "the session was invalidated"))
    case .failed(let code, let detail):
      .fail(
        HTTPError(code, url: request.url, cause: code.ofFoundation.map { URLError($0) }, detail: detail))
    case .threw(let error as HTTPError): .fail(error)
    case .threw(let error): .fail(HTTPError(error, url: request.url, hasAnswer: answer != nil))
    }
  }

  /// Why a session may have ended a request over TLS before its answer. On Apple platforms it says
  /// nothing more of a key that is none of the pinned ones.
  private var refusal: String {
    options.pins(of: request.url) == nil
      ? "the session's delegate refused the server, or the session was invalidated"
      : "the server's key is none of the pinned ones, or the session's delegate refused it, or the session was invalidated"
  }

  private func isAccepted(_ status: Int) -> Bool {
    acceptedStatuses?.contains(status) ?? true
  }

  private func hasBody(_ answer: Answer) -> Bool {
    request.httpMethod != "HEAD" && answer.status != 204 && answer.status != 304
  }
}
