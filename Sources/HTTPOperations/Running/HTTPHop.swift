/// One request of an exchange, made by a transport. It tells the exchange how it gets on, one call after the other, and ends
/// once.
protocol HTTPHop: AnyObject, Sendable {
  /// Makes the request.
  func resume()
  /// Ends it soon, and closes its connection. Returns at once.
  func cancel()
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
