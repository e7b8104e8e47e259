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
/// ``HTTPError`` if no whole answer came. Nothing is retried: that is for `retrying(_:)`. It settles on a dispatch worker,
/// and not on the session's delegate queue.
///
/// Cancelling it ends the request and closes its connection; it settles when that is done, and a file that was being
/// downloaded is gone by then. Settling it from outside ends the request too.
///
/// The progress follows the bytes: of the body that is sent, for an upload, and else of the one that comes, as long as the
/// server says how long it will be.
///
/// Redirects are followed here, and not by `URLSession`, in the same way on all platforms: 301 and 302 turn a POST into a
/// GET, 303 everything but a HEAD; 307 and 308 send method and body again. `Authorization` and `Cookie` fields of the
/// request are not sent to another scheme, host or port than the one they were meant for; on Linux neither are those of
/// the session's `httpAdditionalHeaders`, which `URLSession` adds to every request by itself on Apple platforms.
///
/// Everything else is the session's: its cookies, cache, stored credentials, header fields, limits and timeouts. On Apple
/// platforms its delegate is asked about certificates and passwords. On Linux the requests run in a session with the same
/// configuration but no cache, one for each session that is used, and the session's delegate is asked nothing; see
/// `URLSessionDifferences.swift`.
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
  public convenience init(
    _ request: URLRequest, transfer: HTTPTransfer = .data, session: URLSession = .shared,
    acceptedStatuses: Range<Int>? = 200..<300, maxRedirects: Int = 20
  ) {
    self.init(
      request, transfer: transfer, session: session, acceptedStatuses: acceptedStatuses, maxRedirects: maxRedirects,
      keeping: nil)
  }

  /// The same, for a session that is invalidated when its owner goes.
  package init(
    _ request: URLRequest, transfer: HTTPTransfer, session: URLSession, acceptedStatuses: Range<Int>?,
    maxRedirects: Int, keeping sessionOwner: (any Sendable)?
  ) {
    require(
      maxRedirects >= 0,
      "HTTPOperation was given \(maxRedirects) redirects to follow. Use 0 to follow none, or a positive number.")
    let state = HTTPExchangeState(
      request: request, transfer: transfer, acceptedStatuses: acceptedStatuses, maxRedirects: maxRedirects)
    exchange = LockBox(HTTPExchange(state, session: session))
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
