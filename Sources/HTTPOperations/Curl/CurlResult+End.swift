#if os(Linux) || os(Android)
import CompositeOperations

extension CurlResult {
  /// The end of a hop with this result.
  ///
  /// - Parameters:
  ///   - hasAnswer: whether a whole header had come.
  ///   - isWhole: whether the packed body, if it was packed, has come to its end.
  ///   - text: the detailed error of libcurl.
  func end(hasAnswer: Bool, isWhole: Bool, text: String) -> HTTPHopEnd {
    let detail = text.isEmpty ? nil : HarmlessText.line(CurlResult.withoutSecrets(text))
    if text.contains("HTTP request too large") { return .failed(.invalidRequest, detail) }
    switch code {
    case 27, 56, 100:
      if isAboutLongField(text) {
        return .failed(.headerTooLarge, "libcurl takes no field of more than 4 KiB after the body")
      }
      if isAboutLongHeader(text) {
        return .failed(.headerTooLarge, detail ?? "libcurl takes no line of more than 100 KiB")
      }
    default: break
    }
    switch code {
    case 0 where !hasAnswer: return .failed(.connectionLost, "the header of its answer was cut off")
    case 0 where !isWhole: return .failed(.truncatedBody, "its packed body was cut off")
    case 0: return .completed
    case 1, 8: return .failed(.malformedAnswer, detail)
    case 3: return .failed(.invalidURL, detail)
    case 5: return .failed(.other, "the proxy was not found: \(detail ?? "libcurl says 5")")
    // From 2026 on it is 7.
    case 7 where isAboutProxy(text), 56 where isAboutProxy(text):
      return .failed(.other, "the proxy refused: \(detail ?? "")")
    case 6: return .failed(.hostNotFound, detail)
    case 7, 97: return .failed(.connectionRefused, detail)
    case 18: return .failed(.truncatedBody, detail)
    case 28: return .failed(.timedOut, detail)
    case 35, 51, 53, 54, 58, 59, 60, 64, 66, 77, 80, 82, 83, 90, 91, 98: return .failed(.insecureConnection, detail)
    case 65 where hasAnswer:
      return .failed(.other, "the server wants the body again, which is a stream or must not be sent twice")
    case 52, 55, 65: return .failed(hasAnswer ? .truncatedBody : .connectionLost, detail)
    case 56 where isAboutChunks(text): return .failed(.malformedAnswer, detail)
    case 16, 56, 92: return .failed(hasAnswer ? .truncatedBody : .connectionLost, detail)
    case 61: return .failed(.malformedAnswer, detail)
    // A field after the body.
    case 43 where hasAnswer: return .failed(.malformedAnswer, detail)
    default: return .failed(.other, detail ?? "libcurl says \(code)")
    }
  }

  /// A text of libcurl without the address of a proxy that it quotes, and that may have a password.
  ///
  /// The text may be cut off, and a password may have quotes itself, so all from the first quote on
  /// is left out.
  private static func withoutSecrets(_ text: String) -> String {
    guard let quote = text.firstIndex(of: "'") else { return text }
    let quoted = text[quote...]
    guard text.hasPrefix("Unsupported proxy") || quoted.contains("@") || quoted.contains("://") else { return text }
    return "\(text[..<quote])'…'"
  }

  /// libcurl has its own limits for the header. Up to 7.88 it reports a line that is too long as
  /// lack of memory, without a text.
  private func isAboutLongHeader(_ text: String) -> Bool {
    let text = text.lowercased()
    return code == 27 || code == 100
      || ["too large", "grew larger", "larger than allowed"].contains { text.contains($0) }
  }

  /// A field after a body in chunks.
  private func isAboutLongField(_ text: String) -> Bool { text.lowercased().contains("out of memory in chunked") }

  private func isAboutProxy(_ text: String) -> Bool {
    let text = text.lowercased()
    return text.contains("connect tunnel failed") || text.contains("from proxy after connect")
  }

  /// Whether the server caused an error in receiving, for which libcurl has no code of its own.
  private func isAboutChunks(_ text: String) -> Bool {
    let text = text.lowercased()
    return ["chunk", "hexadecimal", "illegal", "invalid", "malformed"].contains { text.contains($0) }
  }
}

extension HTTPHopEnd {
  /// The same end, with the name of the proxy, which may have failed.
  func naming(_ proxy: String?) -> HTTPHopEnd {
    guard let proxy, case .failed(let code, let detail) = self else { return self }
    return .failed(code, (detail.map { "\($0), " } ?? "") + "through the proxy \(proxy)")
  }
}
#endif
