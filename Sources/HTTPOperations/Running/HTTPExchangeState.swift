import CompositeOperations
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// What is known about a request and its answer: as many hops as there are redirects, then one end.
///
///     pending ──start──▶ asking ──responded──▶ answering ──completed──▶ ended
///                          ▲                       │
///                          └────────follow─────────┘
///
/// A cancel, or a failure on our side, ends the hop that is under way; the end comes when the session says that it is over.
struct HTTPExchangeState: Sendable {
  enum Destination: Equatable {
    /// The body is kept in memory, up to so many bytes.
    case memory(limit: Int)
    case file(URL)
    /// Nobody wants the body of a redirect that is followed.
    case nowhere
  }

  enum Completion {
    case follow
    case succeed(HTTPResponse)
    case fail(any Error)
    case cancel
  }

  struct Answer {
    var url: URL?
    var status: Int
    var headers: HTTPHeaders
    /// The length of the body, as far as the server says it.
    var length: Int?
  }

  static let longestErrorBody = 1 << 20

  let transfer: HTTPTransfer
  private let acceptedStatuses: Range<Int>?
  private let maxRedirects: Int

  /// The request of the hop that is under way, or comes next.
  private(set) var request: URLRequest
  /// What it uploads; nil if there is nothing, or a redirect asks for something else.
  private(set) var upload: HTTPUpload?
  private(set) var isCancelled = false
  private var redirectCount = 0
  private var answer: Answer?
  private var destination = Destination.nowhere
  private var next: HTTPRedirect.Target?
  private var body = Data()
  private var receivedCount = 0
  private var ownFailure: (any Error)?

  init(request: URLRequest, transfer: HTTPTransfer, acceptedStatuses: Range<Int>?, maxRedirects: Int) {
    self.request = request
    self.transfer = transfer
    self.acceptedStatuses = acceptedStatuses
    self.maxRedirects = maxRedirects
    if case .upload(let upload) = transfer { self.upload = upload }
  }

  // MARK: - Inputs

  /// Adds header fields that the request has not got.
  mutating func add(_ fields: HTTPHeaders) {
    for (name, value) in fields.dictionary where request.value(forHTTPHeaderField: name) == nil {
      request.setValue(value, forHTTPHeaderField: name)
    }
  }

  mutating func cancel() {
    isCancelled = true
  }

  /// Something is wrong here: a file cannot be written. What was first counts.
  mutating func fail(_ error: any Error) {
    if ownFailure == nil { ownFailure = error }
  }

  /// Nothing was sent or received for too long.
  mutating func timedOut() {
    fail(HTTPError(URLError(.timedOut), url: request.url, hasAnswer: answer != nil))
  }

  /// The header fields of an answer came. Says what becomes of its body.
  mutating func responded(_ answer: Answer) -> Destination {
    self.answer = answer
    body = Data()
    receivedCount = 0
    next = nil
    destination = destination(for: answer)
    return destination
  }

  /// A part of the body came. Returns how much of how much has come by now, if that is known.
  mutating func received(_ data: Data) -> (count: Int, total: Int)? {
    receivedCount += data.count
    if case .memory(let limit) = destination { body.append(data.prefix(max(0, limit - body.count))) }
    guard destination != .nowhere, upload == nil, let length = answer?.length, length > 0 else { return nil }
    return (receivedCount, length)
  }

  /// The hop is over: says how the request ends, or that another hop follows.
  mutating func completed(_ error: (any Error)?, endsChallenge: Bool) -> Completion {
    if isCancelled { return .cancel }
    if let ownFailure { return .fail(ownFailure) }
    // Whoever declines to give a password is told that the request was cancelled; what was answered is the answer.
    if let error, !(endsChallenge && answer != nil) { return failure(error) }
    guard let answer else { return .fail(HTTPError(.notHTTP, url: request.url)) }
    if let length = answer.length, receivedCount < length, destination != .nowhere, hasBody(answer) {
      return .fail(HTTPError(.truncatedBody, url: answer.url, detail: "\(receivedCount) of \(length) bytes came"))
    }
    if let next {
      request = next.request
      if !next.keepsBody { upload = nil }
      redirectCount += 1
      self.answer = nil
      return .follow
    }
    return end(answer)
  }

  // MARK: - What follows

  private mutating func destination(for answer: Answer) -> Destination {
    if maxRedirects > 0, let location = answer.headers["Location"], HTTPRedirect.isRedirect(answer.status) {
      do {
        guard redirectCount < maxRedirects else {
          throw HTTPError(.tooManyRedirects, url: request.url, detail: "\(maxRedirects) were followed")
        }
        next = try HTTPRedirect.target(location, status: answer.status, of: request, at: answer.url)
      } catch {
        fail(error)
      }
      return .nowhere
    }
    guard case .download(let file) = transfer else { return .memory(limit: .max) }
    return isAccepted(answer.status) ? .file(file) : .memory(limit: Self.longestErrorBody)
  }

  private func end(_ answer: Answer) -> Completion {
    guard isAccepted(answer.status) else {
      return .fail(HTTPStatusError(url: answer.url, status: answer.status, headers: answer.headers, body: body))
    }
    var file: URL?
    if case .file(let url) = destination { file = url }
    return .succeed(
      HTTPResponse(url: answer.url, status: answer.status, headers: answer.headers, body: body, file: file))
  }

  private func failure(_ error: any Error) -> Completion {
    // Others can end what runs in a session.
    if (error as? URLError)?.code == .cancelled { return .cancel }
    return .fail(HTTPError(error, url: request.url, hasAnswer: answer != nil))
  }

  private func isAccepted(_ status: Int) -> Bool {
    acceptedStatuses?.contains(status) ?? true
  }

  private func hasBody(_ answer: Answer) -> Bool {
    request.httpMethod != "HEAD" && answer.status != 204 && answer.status != 304
  }
}
