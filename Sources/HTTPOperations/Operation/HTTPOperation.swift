public import CompositeOperations

#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

/// One HTTP request as an operation, which succeeds with the answer if its status is accepted.
///
/// ```swift
/// let fetch = HTTPOperation(URLRequest(url: url))
/// let forecast = fetch.map { try JSONDecoder().decode(Forecast.self, from: $0.body) }
/// let (page, image) = try await zip(
///   HTTPOperation(URLRequest(url: pageURL)),
///   HTTPOperation(URLRequest(url: imageURL), transfer: .download(to: file))
/// ).run()
/// ```
///
/// If the status is not accepted, it fails with an ``HTTPStatusError``, which has the whole answer.
/// If the answer is incomplete, it fails with an ``HTTPError``. It does not retry, except that it
/// sends a request again, if its method allows it, when a kept connection is closed; use
/// `retrying(_:)`. It settles on a Dispatch worker, and not on the session's delegate queue.
///
/// Cancelling it ends the request and closes its connection. It settles when that is done, after 50
/// milliseconds at most. By then the unfinished file of a download is gone, unless the disk takes
/// more than a second to remove it. A cancel does not stop the move of a complete file to its
/// place. Settling the operation from outside ends the request, too. Whatever the server does, the
/// operation settles within its ``HTTPOptions``. On Linux that needs libcurl: in a session with a
/// `URLProtocol` of its own, and where libcurl is not found, Foundation makes the request, and a
/// hostile answer can end the process.
///
/// On Linux a request waits in a line for its server while the session's
/// `httpMaximumConnectionsPerHost` are in use. If a server has answered with HTTP/2, 32 requests
/// count as one connection, unless a request under way needs its own. Downloads use their own
/// connections, with HTTP/1.1, since one that waits for its disk would stop all others on the
/// connection. Requests without a body whose method must not be repeated use their own, too.
///
/// Each request reads and writes its files, and its body stream, on a queue of its own, a mebibyte
/// ahead or behind at most. A slow disk, or a stream that blocks, delays only its own request.
///
/// The progress follows the bytes of the body that is sent, for an upload, and else of the body
/// that comes, if the server says how long it is.
///
/// The operation follows redirects itself, in the same way on all platforms: 301 and 302 turn a
/// POST into a GET, 303 turns everything but a HEAD into one; 307 and 308 send method and body
/// again. The fields `Authorization`, `Cookie` and `Proxy-Authorization`, those of the session's
/// `httpAdditionalHeaders` and those that the options name are not sent to another scheme, host or
/// port than the one they were meant for.
///
/// Everything else is the session's: its cookies, header fields, proxies, limits and timeouts. On
/// Apple platforms these are also its stored credentials and its cache, and its delegate decides
/// about certificates and passwords. On Linux libcurl makes the requests, with the session's
/// configuration, but without its delegate, its credentials and its cache. Sessions with protocols
/// of their own, and all sessions where libcurl is not found, make their requests themselves.
public final class HTTPOperation: SimpleOperation<HTTPResponse>, @unchecked Sendable {  // constants, and a locked box
  private let exchange: LockBox<HTTPExchange?>
  private let sessionOwner: (any Sendable)?
  private let method: String
  private let url: URL?

  /// Makes an operation from a request.
  ///
  /// Nothing is checked before it starts. Traps if `maxRedirects` is negative.
  ///
  /// - Parameters:
  ///   - request: the request: address, method, header fields and timeout. On Linux a timeout of 60
  ///     s, which is the default of `URLRequest`, means the session's. A request with a body in
  ///     `httpBody` needs no upload.
  ///   - transfer: what travels with the request. The method of a request that uploads may not be
  ///     GET or HEAD.
  ///   - session: the session that makes the request. Do not invalidate it before the operation has
  ///     settled.
  ///   - acceptedStatuses: the statuses that are a success; nil accepts all. The body of an answer
  ///     that is not accepted is part of the error; for a download it is the first mebibyte.
  ///   - maxRedirects: how many redirects are followed. One more is an error,
  ///     ``HTTPError/Code/tooManyRedirects``. With 0 a redirect is an answer like any other.
  ///   - headers: header fields that replace those of the request. Use them for values that come
  ///     from elsewhere: a line break in one is an ``HTTPError``, where `URLRequest` on Linux
  ///     silently leaves out the field. Like the fields of the request, they follow redirects to
  ///     other servers, except the secret ones.
  ///   - options: how long it may take, how much of an answer is taken, what is secret, and which
  ///     servers are trusted.
  public convenience init(
    _ request: URLRequest, transfer: HTTPTransfer = .data, session: URLSession = .shared,
    acceptedStatuses: Range<Int>? = 200..<300, maxRedirects: Int = 20, headers: HTTPHeaders = [:],
    options: HTTPOptions = HTTPOptions()
  ) {
    self.init(
      request, transfer: transfer, session: session, acceptedStatuses: acceptedStatuses, maxRedirects: maxRedirects,
      headers: headers, options: options, keeping: nil)
  }

  /// The same, for a session that is invalidated when its owner is released.
  ///
  /// - Parameter open: opens the file that a download is written to.
  package convenience init(
    _ request: URLRequest, transfer: HTTPTransfer, session: URLSession, acceptedStatuses: Range<Int>?,
    maxRedirects: Int, headers: HTTPHeaders, options: HTTPOptions, keeping sessionOwner: (any Sendable)?,
    opening open: @escaping @Sendable (URL) throws -> FileHandle = { try FileHandle(forWritingTo: $0) }
  ) {
    require(
      maxRedirects >= 0,
      "HTTPOperation was given \(maxRedirects) redirects to follow. Use 0 to follow none, or a positive number.")
    var state = HTTPExchangeState(
      request: request, transfer: transfer, options: options, acceptedStatuses: acceptedStatuses,
      maxRedirects: maxRedirects)
    state.set(headers)
    self.init(request, HTTPExchange(state, session: session, opening: open), keeping: sessionOwner)
  }

  /// Makes an operation from an exchange that has not been started.
  init(_ request: URLRequest, _ exchange: HTTPExchange, keeping sessionOwner: (any Sendable)? = nil) {
    self.exchange = LockBox(exchange)
    self.sessionOwner = sessionOwner
    method = request.httpMethod ?? "GET"
    url = request.url
    super.init()
  }

  /// The name that was set or, without one, the method and the address, without user, password and
  /// query.
  public override var name: String? {
    get { super.name ?? "\(method) \(url?.textWithoutSecrets ?? "nowhere")" }
    set { super.name = newValue }
  }

  /// Makes the request.
  public override func main() {
    exchange.withLock { $0 }?.start(for: self)
  }

  /// Ends the request and closes its connection.
  public override func didCancel() {
    exchange.withLock { $0 }?.cancel()
  }

  /// Settles, and releases the resources of the request.
  func end(with outcome: Outcome<HTTPResponse>) {
    let ended = exchange.withLock { $0.take() }
    withExtendedLifetime(ended) {}
    settle(with: outcome)
  }
}
