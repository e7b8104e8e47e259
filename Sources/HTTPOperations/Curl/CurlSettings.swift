#if os(Linux) || os(Android)
import CompositeOperations
import CompositeOperationsCurl
import Foundation
import FoundationNetworking

/// The configuration of a session, for libcurl.
final class CurlSettings: Sendable {
  let connections: CurlConnections
  /// The serial queue for cookies: the storage may write a file for each.
  let cookieQueue = DispatchQueue(label: "CompositeOperations.HTTPOperations.cookies", qos: .userInitiated)
  private let cookies: HTTPCookieStorage?
  private let setsCookies: Bool
  private let acceptPolicy: HTTPCookie.AcceptPolicy
  private let proxies: CurlProxies
  /// A file with the certificates to trust, by the variable that Foundation reads, too.
  private let authorities = ProcessInfo.processInfo.environment["URLSessionCertificateAuthorityInfoFile"]

  /// An answer sets no more cookies than this: each is compared with all others, and written to a
  /// file.
  private static let mostCookies = 50
  private static let longestCookie = 4096
  /// A server has no more cookies than this, however many its answers set: as many as in browsers.
  private static let mostCookiesOfAServer = 180
  /// libcurl sends no larger header; it does not say of which header it speaks.
  private static let largestHeader = 1 << 20
  private static let agent =
    "\(ProcessInfo.processInfo.processName) curl/\(String(cString: composite_operations_curl_version()))"

  init(of configuration: URLSessionConfiguration) {
    connections = CurlConnections(maxConnectionsPerHost: configuration.httpMaximumConnectionsPerHost)
    cookies = configuration.httpCookieStorage
    setsCookies = configuration.httpShouldSetCookies
    acceptPolicy = configuration.httpCookieAcceptPolicy
    proxies = CurlProxies(configuration.connectionProxyDictionary)
  }

  // MARK: - Requests

  /// Whether a request must not use a kept connection. If the server closes that, libcurl would
  /// repeat the request, unless it has a body, for which it asks again.
  static func needsFreshConnection(_ request: URLRequest, _ upload: CurlUpload?) -> Bool {
    !request.mayBeRepeated && upload.map { $0.length == 0 } ?? true
  }

  /// Whether libcurl can send the header of a request. Leaves room for the lines that it adds.
  func canSendHeader(of request: URLRequest, _ cookies: String?, _ upload: CurlUpload?) -> Bool {
    let lines = lines(for: request, cookies, hasUpload: upload != nil)
    let size = lines.reduce(request.url?.absoluteString.utf8.count ?? 0) { $0 + $1.utf8.count + 2 }
    return size < CurlSettings.largestHeader - 4096
  }

  /// Returns false if the server has to prove its key, and libcurl cannot check it.
  ///
  /// - Parameter cookies: the value of the field.
  func prepare(
    _ handle: CurlHandle, for request: URLRequest, _ cookies: String?, _ upload: CurlUpload?, _ options: HTTPOptions,
    isDownload: Bool
  ) -> Bool {
    let url = request.url!  // it was checked before
    handle.set(CurlOption.url, url.absoluteString)
    if !handle.set(CurlOption.protocols, "http,https") { handle.set(CurlOption.protocolMask, 3) }
    handle.set(CurlOption.noSignal, 1)
    // From 7.87 on, libcurl does not wait for the look-up of a name when a transfer is removed
    // meanwhile.
    handle.set(CurlOption.quickExit, 1)
    handle.set(CurlOption.contentDecoding, 0)
    handle.set(CurlOption.suppressConnectHeaders, 1)
    handle.set(CurlOption.http09Allowed, 0)
    // 1.1, if a pause would stop all others on the connection; else 2 over TLS, if libcurl has it.
    handle.set(CurlOption.httpVersion, isDownload ? 2 : 4)
    handle.set(CurlOption.bufferSize, 1 << 16)
    handle.set(CurlOption.connectTimeout, 2_000_000)  // the exchange looks at the time
    if url.user != nil { handle.set(CurlOption.authentication, 1 | 2) }  // Basic and Digest, whichever is asked for
    if let authorities, !authorities.isEmpty { handle.set(CurlOption.certificateAuthorities, authorities) }
    proxies.prepare(handle, for: url)
    // One connection, if the server takes many requests on it.
    if url.scheme == "https" { handle.set(CurlOption.waitForConnection, 1) }
    if CurlSettings.needsFreshConnection(request, upload) { handle.set(CurlOption.freshConnection, 1) }
    prepareMethod(of: handle, for: request, upload)
    handle.setHeader(lines(for: request, cookies, hasUpload: upload != nil))
    return prepareKeys(of: handle, for: url, options)
  }

  /// The proxy that the session names for a request, for messages.
  func nameOfProxy(for request: URLRequest) -> String? { request.url.flatMap(proxies.name) }

  private func prepareKeys(of handle: CurlHandle, for url: URL, _ options: HTTPOptions) -> Bool {
    guard let keys = options.pins(of: url) else { return true }
    // Before 7.68 it takes a connection that was made without a look at the key.
    if composite_operations_curl_version_number() < 0x074400 { handle.set(CurlOption.freshConnection, 1) }
    // An invalid pin makes libcurl refuse all keys.
    let pins = keys.map { "sha256//\(HTTPOptions.hash(ofPin: $0))" }.sorted().joined(separator: ";")
    return handle.set(CurlOption.pinnedPublicKey, pins.isEmpty ? "sha256//" : pins)
  }

  private func prepareMethod(of handle: CurlHandle, for request: URLRequest, _ upload: CurlUpload?) {
    let method = request.httpMethod ?? "GET"
    if let upload {
      handle.set(CurlOption.upload, 1)
      handle.setSize(CurlOption.uploadSize, upload.length ?? -1)
      handle.set(CurlOption.method, method)
    } else if method == "HEAD" {
      handle.set(CurlOption.noBody, 1)
    } else if method != "GET" {
      handle.set(CurlOption.method, method)
    }
  }

  /// The lines of the header in the form of libcurl: the fields of the request, cookies, and fields
  /// of every request.
  private func lines(for request: URLRequest, _ cookies: String?, hasUpload: Bool) -> [String] {
    let method = request.httpMethod ?? "GET"
    var headers = HTTPHeaders(request.allHTTPHeaderFields ?? [:])
    func add(_ name: String, _ value: @autoclosure () -> String?) {
      if headers[name] == nil { headers[name] = value() }
    }
    add("Accept", "*/*")
    // A range counts in the packed bytes, of which a part cannot be unpacked.
    add("Accept-Encoding", headers["Range"] == nil ? BodyUnpacker.acceptedCodings : "identity")
    add("Cookie", cookies)
    add("User-Agent", CurlSettings.agent)
    if hasUpload {
      if method == "POST" { add("Content-Type", "application/x-www-form-urlencoded") }
      // libcurl adds it itself.
      headers["Content-Length"] = nil
    } else if ["POST", "PUT", "PATCH"].contains(method) {
      add("Content-Length", "0")
    }
    // A field without a value ends with a semicolon; with a colon libcurl would not send it.
    var lines = headers.dictionary.map { $1.allSatisfy { $0 == " " || $0 == "\t" } ? "\($0);" : "\($0): \($1)" }
    // Otherwise libcurl waits a second for the server to ask for the body.
    if hasUpload, headers["Expect"] == nil { lines.append("Expect:") }
    return lines
  }

  // MARK: - Cookies

  /// Finds the cookies for a request, and passes on the value of its field.
  func findCookies(for request: URLRequest, _ goOn: @escaping @Sendable (String?) -> Void) {
    guard setsCookies, request.httpShouldHandleCookies, let url = request.url, let cookies else { return goOn(nil) }
    cookieQueue.async {
      // Foundation on Linux only checks their domains.
      let found = cookies.cookies(for: url)?.filter { $0.isMeant(for: url) } ?? []
      goOn(found.isEmpty ? nil : HTTPCookie.requestHeaderFields(with: found)["Cookie"])
    }
  }

  /// Stores the cookies that an answer sets, later. Returns false if there are none to store.
  func keep(_ values: [String], from request: URLRequest) -> Bool {
    guard !values.isEmpty, acceptPolicy != .never, request.httpShouldHandleCookies, let cookies, let url = request.url
    else { return false }
    cookieQueue.async { self.keep(values, in: cookies, for: url, of: request.mainDocumentURL) }
    return true
  }

  private func keep(_ values: [String], in cookies: HTTPCookieStorage, for url: URL, of document: URL?) {
    let short = values.prefix(CurlSettings.mostCookies).filter { $0.utf8.count <= CurlSettings.longestCookie }
    cookies.setCookies(short.compactMap { HTTPCookie($0, from: url) }, for: url, mainDocumentURL: document)
    let kept = cookies.cookies(for: url) ?? []
    guard kept.count > CurlSettings.mostCookiesOfAServer else { return }
    let oldest = kept.sorted { $0.timeOfCreation < $1.timeOfCreation }.dropLast(CurlSettings.mostCookiesOfAServer)
    for cookie in oldest { cookies.deleteCookie(cookie) }
  }
}
#endif
