import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension HTTPError {
  /// Classifies an error of `URLSession`.
  ///
  /// - Parameter hasAnswer: whether an answer had begun to come.
  init(_ error: any Error, url: URL?, hasAnswer: Bool) {
    self.init(Self.code(of: error, hasAnswer: hasAnswer), url: url, cause: error)
  }

  private static func code(of error: any Error, hasAnswer: Bool) -> Code {
    guard let error = error as? URLError else { return .other }
    switch error.code {
    case .timedOut: return .timedOut
    case .cannotFindHost, .dnsLookupFailed: return .hostNotFound
    case .cannotConnectToHost: return .connectionRefused
    case .notConnectedToInternet, .internationalRoamingOff, .dataNotAllowed, .callIsActive: return .notConnected
    case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
      .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid, .clientCertificateRejected,
      .clientCertificateRequired, .appTransportSecurityRequiresSecureConnection:
      return .insecureConnection
    // The server, or the delegate, refuses the user: trying again does not help.
    case .userCancelledAuthentication, .userAuthenticationRequired: return .other
    // Nothing was lost on the way, and asking again does not help.
    case .resourceUnavailable, .cannotLoadFromNetwork, .requestBodyStreamExhausted: return .other
    case .cannotDecodeContentData, .cannotDecodeRawData: return .malformedAnswer
    case .fileDoesNotExist, .noPermissionsToReadFile, .fileIsDirectory: return .unreadableFile
    default: break
    }
    // Whatever the code is: there is a header, and not the whole body.
    if hasAnswer { return .truncatedBody }
    switch error.code {
    case .badServerResponse, .networkConnectionLost, .zeroByteResource: return .connectionLost
    // The address was checked before.
    case .cannotParseResponse, .unsupportedURL: return .malformedAnswer
    case .badURL: return .invalidURL
    case .dataLengthExceedsMaximum: return .headerTooLarge
    default: return isAboutLongHeader(error) ? .headerTooLarge : .connectionLost
    }
  }

  private static func isAboutLongHeader(_ error: URLError) -> Bool {
    #if canImport(FoundationNetworking)
    // The texts of libcurl up to 7.88, since 8.0, and of its limit for all fields together.
    let text = error.localizedDescription.lowercased()
    return ["out of memory", "too large", "grew larger", "larger than allowed"].contains { text.contains($0) }
    #else
    return false
    #endif
  }
}

extension HTTPError.Code {
  /// The code of `URLSession`, for callers that look at the cause.
  var ofFoundation: URLError.Code? {
    switch value {
    case .hostNotFound: .cannotFindHost
    case .connectionRefused: .cannotConnectToHost
    case .notConnected: .notConnectedToInternet
    case .insecureConnection: .secureConnectionFailed
    case .timedOut: .timedOut
    case .connectionLost, .truncatedBody: .networkConnectionLost
    case .malformedAnswer: .cannotParseResponse
    case .headerTooLarge, .bodyTooLarge: .dataLengthExceedsMaximum
    case .invalidURL, .invalidRequest, .unreadableFile, .unwritableFile, .tooManyRedirects, .invalidRedirect, .notHTTP,
      .other:
      nil
    }
  }
}
