import Foundation

/// One request of an exchange, made by a transport. It tells the exchange how it gets on, one call after the other, and ends
/// once.
protocol HTTPHop: AnyObject, Sendable {
  /// Makes the request.
  func resume()
  /// Ends it soon, and closes its connection. Returns at once.
  func cancel()
}

/// Has hops made, and is told how each gets on: the exchange, as a transport knows it.
protocol HTTPHopOwner: AnyObject, Sendable {
  /// Whether the body of an answer may go to a file.
  var isDownload: Bool { get }

  /// The header has come.
  ///
  /// - Returns: where what comes of the body, and its end, is to be told; anywhere if there is none.
  func responded(_ answer: HTTPExchangeState.Answer, from hop: any HTTPHop) -> DiskQueue?

  /// A piece of the body has come. False if no more of it is wanted.
  func received(_ data: Data, from hop: any HTTPHop) -> Bool

  /// So much of the body has been sent.
  func sent(_ count: Int, of total: Int, by hop: any HTTPHop)

  /// The hop has neither sent nor received anything for so long.
  func idled(for time: Duration, _ hop: any HTTPHop)

  /// Ends the hop, of which no more is wanted.
  func stop(_ hop: any HTTPHop)

  /// The hop has ended.
  ///
  /// - Parameter endsChallenge: whether it ended because nobody gave a password.
  func ended(_ end: HTTPHopEnd, by hop: any HTTPHop, endsChallenge: Bool)
}

extension HTTPHopOwner {
  func ended(_ end: HTTPHopEnd, by hop: any HTTPHop) { ended(end, by: hop, endsChallenge: false) }
}

/// Where a hop goes.
enum HTTPHopPlace: Sendable {
  /// To the server that the request was meant for, with all that the session has for it.
  case ownServer
  /// To where a redirect led.
  case otherServer
}

/// How a hop ended.
enum HTTPHopEnd: Sendable {
  /// All of the answer has come.
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
  /// Longer than anybody waits. What does not fit into an integer, as milliseconds, ends the process in Foundation.
  static let endless: TimeInterval = 1_000_000_000
}
