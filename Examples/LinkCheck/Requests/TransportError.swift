import Foundation
import HTTPOperations

/// Why a request got no answer.
struct TransportError: Error, Equatable {
  enum Kind: Equatable, Sendable {
    /// The server could not be asked, or took too long: it says nothing about the link.
    case unreachable
    /// The server was there, but what came was no answer.
    case noAnswer
    /// A fault that asking again will not mend, such as a wrong certificate.
    case lasting
  }

  let kind: Kind
  let reason: String

  static func timedOut(after timeout: Duration) -> TransportError {
    TransportError(kind: .unreachable, reason: "no answer within \(timeout.inSeconds)")
  }

  init(kind: Kind, reason: String) {
    self.kind = kind
    self.reason = reason
  }

  /// Sorts the errors of requests.
  init(_ error: any Error) {
    guard let error = error as? HTTPError else {
      self.init(kind: .noAnswer, reason: "\(error)")
      return
    }
    switch error.code {
    case .hostNotFound: self.init(kind: .unreachable, reason: "no such host")
    case .connectionRefused: self.init(kind: .unreachable, reason: "the connection was refused")
    case .notConnected: self.init(kind: .unreachable, reason: "there is no network")
    case .timedOut: self.init(kind: .unreachable, reason: "no answer in time")
    case .connectionLost, .truncatedBody:
      self.init(kind: .noAnswer, reason: "the server closed the connection without an answer")
    case .insecureConnection: self.init(kind: .lasting, reason: "no secure connection: \(error)")
    case .invalidURL, .invalidRequest: self.init(kind: .lasting, reason: "this is no valid address")
    default: self.init(kind: .noAnswer, reason: error.description)
    }
  }
}
