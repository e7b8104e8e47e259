import CompositeOperations
public import Foundation

/// The error of an ``HTTPOperation`` whose answer is incomplete, or could not be stored.
///
/// Switch on ``code``; ``description`` is a sentence with the address (without user, password and
/// query), the cause and the remedy.
public struct HTTPError: Error, Sendable {
  /// What went wrong.
  ///
  /// More codes may come: a `switch` over them needs a `default`.
  public struct Code: Sendable, Hashable, CaseIterable, CustomStringConvertible {
    /// No request can be made to the address: it is not `http` or `https`, or has no host.
    public static let invalidURL = Code(value: .invalidURL)
    /// The request contradicts itself.
    public static let invalidRequest = Code(value: .invalidRequest)
    /// The file to upload cannot be read.
    public static let unreadableFile = Code(value: .unreadableFile)
    /// The file to download to cannot be written.
    public static let unwritableFile = Code(value: .unwritableFile)
    /// There is no such host.
    public static let hostNotFound = Code(value: .hostNotFound)
    /// The host refuses the connection, or is out of reach.
    public static let connectionRefused = Code(value: .connectionRefused)
    /// There is no network.
    public static let notConnected = Code(value: .notConnected)
    /// There was no secure connection, because of a certificate for example.
    public static let insecureConnection = Code(value: .insecureConnection)
    /// The time of the request, the session or the options was over.
    public static let timedOut = Code(value: .timedOut)
    /// The connection ended before an answer came.
    public static let connectionLost = Code(value: .connectionLost)
    /// The answer is not readable HTTP.
    public static let malformedAnswer = Code(value: .malformedAnswer)
    /// The header fields of the answer are longer than the limit.
    public static let headerTooLarge = Code(value: .headerTooLarge)
    /// The body is longer than the limit for bodies in memory: see ``HTTPOptions``.
    public static let bodyTooLarge = Code(value: .bodyTooLarge)
    /// The connection ended before the whole body had come.
    public static let truncatedBody = Code(value: .truncatedBody)
    /// There were more redirects than the limit.
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
  /// The sentence: what went wrong with which address, and the remedy.
  public var description: String { HarmlessText.line(sentence) }

  private var sentence: String {
    let place = url.map { $0.isFileURL ? $0.path : $0.textWithoutSecrets } ?? "nowhere"
    let reason = (detail ?? cause?.localizedDescription).map { " (\($0))" } ?? ""
    return switch code.value {
    case .invalidURL:
      "No request can be made to \(url?.isFileURL == true ? "file://" : "")\(place)\(reason). Use an http or https address that has a host."
    case .invalidRequest:
      "The request to \(place) contradicts itself\(reason). Change its method or its header fields."
    case .unreadableFile:
      "\(place) cannot be uploaded\(reason). Name a file that can be read."
    case .unwritableFile:
      "\(place) cannot be downloaded to\(reason). Name a file in a folder that can be written, on a disk with room."
    case .hostNotFound:
      "There is no such host as that of \(place)\(reason). Check the address, or the network's name service."
    case .connectionRefused:
      "\(place) cannot be connected to\(reason). Check that the server runs, and try again."
    case .notConnected:
      "\(place) cannot be asked, for there is no network\(reason). Try again when there is."
    case .insecureConnection:
      "There was no secure connection to \(place)\(reason). Check the server's certificate, and the clock."
    case .timedOut:
      "\(place) did not answer in time\(reason). Try again, or raise the request's timeoutInterval or the totalTime of its options."
    case .connectionLost:
      "The connection to \(place) ended without an answer\(reason). Try again if the request may be made twice."
    case .malformedAnswer:
      "The answer of \(place) is not HTTP\(reason). Check the address and its port."
    case .headerTooLarge:
      "The header fields of the answer of \(place) are too long\(reason). The server has to send less."
    case .bodyTooLarge:
      "The answer of \(place) is too long to be kept in memory\(reason). Download it to a file, or raise maxBodySize of its options."
    case .truncatedBody:
      "The answer of \(place) ended before it was complete\(reason). Try again."
    case .tooManyRedirects:
      "\(place) redirects more often than allowed\(reason). Check for a circle, or raise maxRedirects."
    case .invalidRedirect:
      "The redirect of \(place) cannot be followed\(reason). Use maxRedirects: 0 to have it as the answer."
    case .notHTTP:
      "\(place) did not answer in HTTP\(reason). Check the session's protocolClasses."
    case .other:
      "The request to \(place) failed\(reason)."
    }
  }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}

extension StringProtocol {
  /// Whether a host is an address of IPv6, without the brackets that it has in a URL, and a zone.
  var isAddressWithColons: Bool {
    count { $0 == ":" } > 1 && allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." }
  }
}

extension URL {
  /// The host as it stands in an address: one of IPv6 has brackets there, and its zone is encoded.
  var hostInAddress: String? {
    guard let host, host.contains(":"), !host.hasPrefix("[") else { return self.host }
    return "[\(host.contains("%25") ? host : host.replacing("%", with: "%25"))]"
  }

  /// The address without user, password, query and fragment, which may be secret.
  var textWithoutSecrets: String {
    guard let host = hostInAddress else { return scheme.map { "\($0):…" } ?? "“\(path)”" }
    return "\(scheme ?? "")://\(host)\(port.map { ":\($0)" } ?? "")\(path)"
  }
}
