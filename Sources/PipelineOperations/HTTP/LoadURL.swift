public import CompositeOperations
public import HTTPOperations

#if canImport(FoundationNetworking)
public import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

/// A step that makes an HTTP request, and gives the body of the answer.
///
/// ```swift
/// let page = Pipeline(LoadURL()).then { data in String(decoding: data, as: UTF8.self) }
///
/// let forecast = Pipeline(LoadURL(headers: ["Accept": "application/json"]) { (city: String) in
///   URLRequest(url: server.appending(path: "forecast/\(city)"))
/// }).then(DecodeJSON(Forecast.self))
///
/// let version = Pipeline(LoadURL().response).then { response in response.headers["ETag"] }
/// ```
///
/// It runs an `HTTPOperation`. A status that is not accepted fails with `HTTPStatusError`, which
/// has status, header fields and body; a request without a complete answer fails with `HTTPError`.
/// Cancelling the step closes the connection. Its progress follows the bytes. ``response`` gives
/// the whole answer, and ``LoadFile`` loads files of this machine.
public struct LoadURL<Input: Sendable>: PipelineStep {
  fileprivate let make: @Sendable (Input) throws -> HTTPOperation

  /// Makes a step that loads the URL that it is given.
  ///
  /// - Parameters:
  ///   - session: the session that makes the requests.
  ///   - acceptedStatuses: the statuses that are a success; nil accepts all.
  ///   - maxRedirects: how many redirects the step follows. One more is an `HTTPError`; with 0 a
  ///     redirect is an answer like any other. Traps if it is negative.
  ///   - headers: header fields that replace those of the request. A line break in one is an
  ///     `HTTPError`.
  ///   - options: how long it may take, how much of an answer is taken, what is secret, and which
  ///     servers are trusted.
  public init(
    session: URLSession = .shared, acceptedStatuses: Range<Int>? = 200..<300, maxRedirects: Int = 20,
    headers: HTTPHeaders = [:], options: HTTPOptions = HTTPOptions()
  ) where Input == URL {
    self.init(
      session: session, acceptedStatuses: acceptedStatuses, maxRedirects: maxRedirects, headers: headers,
      options: options, request: { URLRequest(url: $0) })
  }

  /// Makes a step that makes a request of what it is given.
  ///
  /// - Parameters:
  ///   - session: the session that makes the requests.
  ///   - acceptedStatuses: the statuses that are a success; nil accepts all.
  ///   - maxRedirects: how many redirects the step follows. One more is an `HTTPError`; with 0 a
  ///     redirect is an answer like any other. Traps if it is negative.
  ///   - headers: header fields that replace those of the request. A line break in one is an
  ///     `HTTPError`.
  ///   - options: how long it may take, how much of an answer is taken, what is secret, and which
  ///     servers are trusted.
  ///   - transfer: what travels with a request: only itself, a body to upload, or a file to
  ///     download to. After a download the body is empty, and `file` of the ``response`` is set.
  ///     Called as `request` is.
  ///   - request: makes the request; one with an `httpBody` uploads it. Called for each run, and
  ///     each attempt, where operations run. What it throws is the failure of the step;
  ///     `CancellationError` cancels.
  public init(
    session: URLSession = .shared, acceptedStatuses: Range<Int>? = 200..<300, maxRedirects: Int = 20,
    headers: HTTPHeaders = [:], options: HTTPOptions = HTTPOptions(),
    transfer: @escaping @Sendable (Input) throws -> HTTPTransfer = { _ in .data },
    request: @escaping @Sendable (Input) throws -> URLRequest
  ) {
    require(
      maxRedirects >= 0,
      "LoadURL was given \(maxRedirects) redirects to follow. Use 0 to follow none, or a positive number.")
    make = { input in
      HTTPOperation(
        try request(input), transfer: try transfer(input), session: session, acceptedStatuses: acceptedStatuses,
        maxRedirects: maxRedirects, headers: headers, options: options)
    }
  }

  /// The same request as a step that gives the whole answer: status, header fields, and the body or
  /// the file that it was downloaded to.
  public var response: some PipelineStep<Input, HTTPResponse> { LoadResponse(load: self) }

  /// Makes the operation; see ``PipelineStep/operation(for:)``.
  public func operation(for input: Input) throws -> SimpleOperation<Data> {
    try make(input).map(\.body)
  }
}

private struct LoadResponse<Input: Sendable>: PipelineStep {
  let load: LoadURL<Input>

  var stepName: String { load.stepName }

  func operation(for input: Input) throws -> SimpleOperation<HTTPResponse> {
    try load.make(input)
  }
}
