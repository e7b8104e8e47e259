import CompositeOperations
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Finds what is wrong with a request before it is made. Otherwise some of it would be sent, or end
/// the process.
enum HTTPRequestCheck {
  /// The body streams that requests have taken, and have not closed yet: their status does not tell
  /// them from those that the user has opened.
  private static let streamsUnderWay = LockBox<Set<ObjectIdentifier>>([])
  /// What is wrong with a request whose stream is not its own.
  static let usedStream =
    "its body is a stream that was read before, and cannot be sent twice; use HTTPTransfer.upload"

  /// - Parameter sessionIdentifier: the identifier of a background session; others have none.
  static func mistake(in state: HTTPExchangeState, sessionIdentifier: String?) -> (any Error)? {
    if let mistake = state.mistake { return mistake }
    let request = state.request
    guard let url = request.url, url.isWebAddress else { return HTTPError(.invalidURL, url: request.url) }
    if sessionIdentifier != nil {
      return invalid(
        request,
        "a background session cannot make it; use one with another configuration, whose requests end with the app")
    }
    let fields = HTTPHeaders(request.allHTTPHeaderFields ?? [:])
    do { try fields.check(for: url) } catch { return error }
    let method = request.httpMethod ?? "GET"
    guard !method.isEmpty, method.utf8.allSatisfy(HTTPHeaders.isNameCharacter) else {
      return invalid(request, "its method has a character that no method may have")
    }
    let hasBody = state.upload != nil || request.httpBody != nil || request.httpBodyStream != nil
    if hasBody, method == "GET" || method == "HEAD" {
      return invalid(request, "it has a body, but its method is \(method)")
    }
    if state.upload == nil, let stream = request.httpBodyStream, wasRead(stream) {
      return invalid(request, usedStream)
    }
    if let coding = fields["Transfer-Encoding"], coding.lowercased() != "chunked" || !hasBody {
      return invalid(request, "its Transfer-Encoding is “\(coding)”, but only a body can have one, and only “chunked”")
    }
    if fields["Transfer-Encoding"] != nil, fields["Content-Length"] != nil {
      return invalid(request, "it has both a Transfer-Encoding and a Content-Length")
    }
    if let host = state.options.mistakenHost {
      return invalid(request, "keys are pinned for “\(host)”, which is no host")
    }
    if let (pin, host) = state.options.mistakenPin {
      return invalid(request, "the key pinned for \(host), “\(pin)”, is no SHA-256 in Base64")
    }
    if case .file(let file)? = state.upload, let mistake = mistake(in: file) { return mistake }
    if let length = fields["Content-Length"], let mistake = mistake(inLength: length, of: state) {
      return invalid(request, mistake)
    }
    return nil
  }

  private static func invalid(_ request: URLRequest, _ detail: String) -> HTTPError {
    HTTPError(.invalidRequest, url: request.url, detail: detail)
  }

  /// Whether an earlier request has taken the stream. One that the user has opened is none.
  private static func wasRead(_ stream: InputStream) -> Bool {
    // Reading one that has failed fails again, and says why.
    if stream.streamStatus == .error { return false }
    return streamsUnderWay.withLock { $0.contains(ObjectIdentifier(stream)) }
      || [.atEnd, .closed].contains(stream.streamStatus)
  }

  /// Takes the stream for a request, until it is closed. Returns false if another request has taken
  /// it: two may have been checked before.
  static func take(_ stream: InputStream) -> Bool {
    if stream.streamStatus == .error { return true }
    guard streamsUnderWay.withLock({ $0.insert(ObjectIdentifier(stream)).inserted }) else { return false }
    guard [.atEnd, .closed].contains(stream.streamStatus) else { return true }
    release(stream)
    return false
  }

  /// The stream is closed.
  static func release(_ stream: InputStream) {
    streamsUnderWay.withLock { _ = $0.remove(ObjectIdentifier(stream)) }
  }

  /// A wrong length would make the server wait, or read the rest as another request.
  private static func mistake(inLength field: String, of state: HTTPExchangeState) -> String? {
    let length: Int?
    switch state.upload ?? state.request.httpBody.map({ .data($0) }) {
    case .data(let data): length = data.count
    case .file(let file): length = HTTPUpload.length(of: file)
    case nil: length = state.request.httpBodyStream == nil ? 0 : number(field)
    }
    guard let length else { return "its Content-Length is “\(field)”" }
    return number(field) == length ? nil : "its Content-Length is \(field), but its body has \(length) bytes"
  }

  /// Digits alone: unlike a number, a length has no sign.
  private static func number(_ field: String) -> Int? {
    field.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int(field) : nil
  }

  private static func mistake(in file: URL) -> HTTPError? {
    var isFolder: ObjCBool = false
    guard file.isFileURL, FileManager.default.fileExists(atPath: file.path, isDirectory: &isFolder) else {
      return HTTPError(.unreadableFile, url: file, detail: "there is none")
    }
    if isFolder.boolValue { return HTTPError(.unreadableFile, url: file, detail: "it is a folder") }
    let type = try? FileManager.default.attributesOfItem(atPath: file.resolvingSymlinksInPath().path)[.type]
    if type as? FileAttributeType != .typeRegular {
      return HTTPError(.unreadableFile, url: file, detail: "it is a device or a pipe, whose length is not known")
    }
    if !FileManager.default.isReadableFile(atPath: file.path) {
      return HTTPError(.unreadableFile, url: file, detail: "reading it is not permitted")
    }
    return nil
  }
}

extension HTTPUpload {
  /// The number of bytes of a file; for a link, of the file that it leads to.
  static func length(of file: URL) -> Int? {
    let path = file.resolvingSymlinksInPath().path
    return (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? NSNumber).map {
      Int(clamping: $0.int64Value)
    }
  }
}

extension URLRequest {
  /// Whether its method is idempotent.
  var mayBeRepeated: Bool {
    ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"].contains(httpMethod ?? "GET")
  }
}
