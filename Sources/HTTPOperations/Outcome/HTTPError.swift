import CompositeOperations
public import Foundation

/// What an ``HTTPOperation`` fails with if no whole answer came, or it could not be kept.
///
/// Switch on ``code``; ``description`` is a sentence with the address (without user, password and query), the cause and
/// what can be done.
public struct HTTPError: Error, Sendable {
  /// What went wrong.
  ///
  /// More codes may come: a `switch` over them needs a `default`.
  public struct Code: Sendable, Hashable, CaseIterable, CustomStringConvertible {
    /// The address is none that a request can be made to: not `http` or `https`, or without a host.
    public static let invalidURL = Code(value: .invalidURL)
    /// The request contradicts itself.
    public static let invalidRequest = Code(value: .invalidRequest)
    /// The file to upload cannot be read.
    public static let unreadableFile = Code(value: .unreadableFile)
    /// The file to download to cannot be written.
    public static let unwritableFile = Code(value: .unwritableFile)
    /// There is no such host.
    public static let hostNotFound = Code(value: .hostNotFound)
    /// The host cannot be connected to: nobody listens there, or it is out of reach.
    public static let connectionRefused = Code(value: .connectionRefused)
    /// There is no network.
    public static let notConnected = Code(value: .notConnected)
    /// No secure connection came about, because of a certificate for example.
    public static let insecureConnection = Code(value: .insecureConnection)
    /// The request's or the session's time was over.
    public static let timedOut = Code(value: .timedOut)
    /// The connection ended before an answer came.
    public static let connectionLost = Code(value: .connectionLost)
    /// What came is no answer in HTTP.
    public static let malformedAnswer = Code(value: .malformedAnswer)
    /// The header fields of the answer are longer than what is accepted.
    public static let headerTooLarge = Code(value: .headerTooLarge)
    /// The body is longer than what is kept in memory: see ``HTTPOptions``.
    public static let bodyTooLarge = Code(value: .bodyTooLarge)
    /// The connection ended before the whole body had come.
    public static let truncatedBody = Code(value: .truncatedBody)
    /// There were more redirects than are to be followed.
    public static let tooManyRedirects = Code(value: .tooManyRedirects)
    /// A redirect leads nowhere, or cannot be followed.
    public static let invalidRedirect = Code(value: .invalidRedirect)
    /// The answer was not HTTP.
    public static let notHTTP = Code(value: .notHTTP)
    /// Something else; see ``HTTPError/cause``.
    public static let other = Code(value: .other)

    /// All codes of this version.
    public static var allCases: [Code] { Value.allCases.map(Code.init) }

    /// The code in a word, such as `invalidURL`.
    public var description: String { value.rawValue }

    /// What the library itself switches on, without a `default`.
    enum Value: String, CaseIterable {
      case invalidURL, invalidRequest, unreadableFile, unwritableFile, hostNotFound, connectionRefused, notConnected,
        insecureConnection, timedOut, connectionLost, malformedAnswer, headerTooLarge, bodyTooLarge, truncatedBody,
        tooManyRedirects, invalidRedirect, notHTTP, other
    }

    let value: Value
  }

  /// What went wrong, to switch on.
  public let code: Code
  /// The address, or the file, that it went wrong with.
  public let url: URL?
  /// The error of Foundation behind it, if there is one.
  public let cause: (any Error)?
  private let detail: String?

  init(_ code: Code, url: URL?, cause: (any Error)? = nil, detail: String? = nil) {
    self.code = code
    self.url = url
    self.cause = cause
    self.detail = detail
  }

  /// Makes an error, for tests and for stand-ins of ``HTTPOperation``.
  public init(_ code: Code, url: URL?, cause: (any Error)? = nil) {
    self.init(code, url: url, cause: cause, detail: nil)
  }
}

extension HTTPError: LocalizedError, CustomStringConvertible {
  /// The sentence: what went wrong with which address, and what can be done.
  public var description: String { HarmlessText.line(sentence) }

  private var sentence: String {
    let place = url.map { $0.isFileURL ? $0.path : $0.textWithoutSecrets } ?? "nowhere"
    let reason = (detail ?? cause?.localizedDescription).map { " (\($0))" } ?? ""
    return switch code.value {
    case .invalidURL:
      "No request can be made to \(place)\(reason). Use an http or https address that has a host."
    case .invalidRequest:
      "The request to \(place) contradicts itself\(reason). Change its method or its header fields."
    case .unreadableFile:
      "\(place) can not be uploaded\(reason). Name a file that can be read."
    case .unwritableFile:
      "\(place) can not be downloaded to\(reason). Name a file in a folder that can be written, on a disk with room."
    case .hostNotFound:
      "There is no such host as that of \(place)\(reason). Check the address, or the network's name service."
    case .connectionRefused:
      "\(place) can not be connected to\(reason). Check that the server runs, and try again."
    case .notConnected:
      "\(place) can not be asked, for there is no network\(reason). Try again when there is."
    case .insecureConnection:
      "No secure connection to \(place) came about\(reason). Check the server's certificate, and the clock."
    case .timedOut:
      "\(place) did not answer in time\(reason). Try again, or raise the request's timeoutInterval or the totalTime of its options."
    case .connectionLost:
      "The connection to \(place) ended without an answer\(reason). Try again if the request may be made twice."
    case .malformedAnswer:
      "What \(place) answered is no HTTP\(reason). Check the address and its port."
    case .headerTooLarge:
      "The header fields of the answer of \(place) are too long\(reason). The server has to send less."
    case .bodyTooLarge:
      "The answer of \(place) is too long to be kept in memory\(reason). Download it to a file, or raise bodyInMemory of its options."
    case .truncatedBody:
      "The answer of \(place) ended before it was complete\(reason). Try again."
    case .tooManyRedirects:
      "\(place) redirects once more than is followed\(reason). Check for a circle, or raise maxRedirects."
    case .invalidRedirect:
      "The redirect of \(place) can not be followed\(reason). Use maxRedirects: 0 to have it as the answer."
    case .notHTTP:
      "\(place) did not answer in HTTP\(reason). Check the session's protocolClasses."
    case .other:
      "The request to \(place) failed\(reason)."
    }
  }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}

extension URL {
  /// The address without user, password, query and fragment, which may be nobody's business.
  var textWithoutSecrets: String {
    guard let host else { return scheme.map { "\($0):…" } ?? "“\(path)”" }
    return "\(scheme ?? "")://\(host)\(port.map { ":\($0)" } ?? "")\(path)"
  }
}
