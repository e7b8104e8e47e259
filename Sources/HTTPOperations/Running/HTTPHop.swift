import Foundation

/// One request of an exchange, made by a transport. It reports to the exchange in serial calls, and
/// ends once.
protocol HTTPHop: AnyObject, Sendable {
  /// Makes the request.
  func resume()
  /// Ends the request soon, and closes its connection. Returns at once.
  func cancel()
}

/// The owner of hops, which they report to: the exchange, as a transport knows it.
protocol HTTPHopOwner: AnyObject, Sendable {
  /// Whether the body of an answer may go to a file.
  var isDownload: Bool { get }

  /// The header has come.
  ///
  /// - Returns: the queue on which to report the body and the end; nil for any thread.
  func responded(_ answer: HTTPExchangeState.Answer, from hop: any HTTPHop) -> DiskQueue?

  /// A piece of the body has come. Returns false if no more of it is wanted.
  func received(_ data: Data, from hop: any HTTPHop) -> Bool

  /// A part of the body has been sent.
  func sent(_ count: Int, of total: Int, by hop: any HTTPHop)

  /// The hop has neither sent nor received anything for this time.
  func idled(for time: Duration, _ hop: any HTTPHop)

  /// Ends the hop early.
  func stop(_ hop: any HTTPHop)

  /// The hop has ended.
  ///
  /// - Parameter endsChallenge: whether it ended because no password was given.
  func ended(_ end: HTTPHopEnd, by hop: any HTTPHop, endsChallenge: Bool)
}

extension HTTPHopOwner {
  func ended(_ end: HTTPHopEnd, by hop: any HTTPHop) { ended(end, by: hop, endsChallenge: false) }
}

/// Where a hop goes.
enum HTTPHopPlace: Sendable {
  /// To the server that the request was meant for, with all that the session has for it.
  case ownServer
  /// To the server that a redirect led to.
  case otherServer
}

/// How a hop ended.
enum HTTPHopEnd: Sendable {
  /// The whole answer has come.
  case completed
  case cancelled
  /// The exchange wanted no more of it.
  case stopped
  case failed(HTTPError.Code, String?)
  case threw(any Error)

  /// Whether the answer, or what is wrong with it, ended the hop.
  var isOfAnswer: Bool { if case .cancelled = self { false } else { true } }
}

extension TimeInterval {
  /// Longer than any request waits. What does not fit into an integer, as milliseconds, ends the
  /// process in Foundation.
  static let endless: TimeInterval = 1_000_000_000
}
