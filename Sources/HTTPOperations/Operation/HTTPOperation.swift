public import CompositeOperations

#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

/// One HTTP request as an operation: it succeeds with the answer, if its status is accepted.
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
/// It fails with an ``HTTPStatusError``, which has the whole answer, if the status is not accepted, and with an
/// ``HTTPError`` if no whole answer came. Nothing is retried, but for a request on a connection that was kept and is closed, if its
/// method allows it: that is for `retrying(_:)`. It settles on a dispatch worker, and not on the session's delegate queue.
///
/// Cancelling it ends the request and closes its connection; it settles when that is done, after 50 milliseconds at most, and
/// a file that was being downloaded is gone by then, unless the disk takes more than a second for it. A cancel that comes while the
/// complete file is put in its place does not stop that. Settling it from outside ends the request too. Whatever the server does, it
/// settles within the ``HTTPOptions`` that it was given. On Linux that needs libcurl: in a session with a `URLProtocol` of the
/// program's own, and where libcurl is not found, Foundation makes the request, and a hostile answer can end the process.
///
/// On Linux a request waits in a line for its server, as long as the session's `httpMaximumConnectionsPerHost` are in use. Where a
/// server has answered with HTTP/2, 32 requests count as one connection, unless a request is under way that has one for itself:
/// downloads have, with HTTP/1.1, for one that waits for its disk would keep all others on the connection waiting, and so have
/// requests without a body whose method must not be repeated.
///
/// Files, and a body stream of the request, are read and written on a queue of each request, ahead of what is sent and behind what
/// comes by a mebibyte at most: a slow disk, or a stream that blocks, holds up its own request alone.
///
/// The progress follows the bytes: of the body that is sent, for an upload, and else of the one that comes, as long as the
/// server says how long it will be.
///
/// Redirects are followed here, and not by `URLSession`, in the same way on all platforms: 301 and 302 turn a POST into a
/// GET, 303 everything but a HEAD; 307 and 308 send method and body again. `Authorization`, `Cookie` and
/// `Proxy-Authorization` fields, those of the session's `httpAdditionalHeaders` and those that are named in the options are not
/// sent to another scheme, host or port than the one they were meant for.
///
/// Everything else is the session's: its cookies, header fields, proxies, limits and timeouts. On Apple platforms its stored
/// credentials and its cache, too, and its delegate is asked about certificates and passwords. On Linux libcurl makes the
/// requests, with what the session's configuration says; its delegate, its credentials and its cache are asked nothing.
/// Sessions with protocols of their own, and all where libcurl is not found, make them themselves.
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
  ///   - request: the request: address, method, header fields and timeout. On Linux a timeout of 60 s, which is that of a
  ///     request that was given none, means the session's. A request with a body in `httpBody` needs no upload.
  ///   - transfer: what travels with it. A request that uploads has to be made for it: its method may not be GET or HEAD.
  ///   - session: the session that it is made in. It must not be invalidated before the operation has settled.
  ///   - acceptedStatuses: the statuses that are a success; nil accepts all. The body of an answer that is not accepted is
  ///     part of the error; of a download it is the first mebibyte.
  ///   - maxRedirects: how many redirects are followed. One more is an error, ``HTTPError/Code/tooManyRedirects``.
  ///     With 0 a redirect is an answer like any other.
  ///   - headers: header fields that replace those of the request. Prefer them to the request's own for values that come from
  ///     elsewhere: a line break in one is an ``HTTPError``, where `URLRequest` on Linux leaves the field out without a word.
  ///     Like those of the request, they follow redirects to other servers, except the secret ones.
  ///   - options: how long it may take, how much of an answer is taken, what is secret, and which servers are trusted.
  public convenience init(
    _ request: URLRequest, transfer: HTTPTransfer = .data, session: URLSession = .shared,
    acceptedStatuses: Range<Int>? = 200..<300, maxRedirects: Int = 20, headers: HTTPHeaders = [:],
    options: HTTPOptions = HTTPOptions()
  ) {
    self.init(
      request, transfer: transfer, session: session, acceptedStatuses: acceptedStatuses, maxRedirects: maxRedirects,
      headers: headers, options: options, keeping: nil)
  }

  /// The same, for a session that is invalidated when its owner goes.
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

  /// The name it was given or, without one, its method and address, without user, password and query.
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

  /// Settles, and lets go of what the request took up.
  func end(with outcome: Outcome<HTTPResponse>) {
    let ended = exchange.withLock { $0.take() }
    withExtendedLifetime(ended) {}
    settle(with: outcome)
  }
}
