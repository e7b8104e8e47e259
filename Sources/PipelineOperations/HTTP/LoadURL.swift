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
///   URLRequest(url: server.appending(path: "forecast").appending(queryItems: [.init(name: "city", value: city)]))
/// }).then(DecodeJSON(Forecast.self))
/// ```
///
/// It runs an `HTTPOperation`: a status that is not accepted fails with `HTTPStatusError`, which has status, header fields and
/// body; where no whole answer comes, it fails with `HTTPError`. Cancelling it closes the connection. Its progress follows the
/// bytes. For all of the answer take ``LoadResponse``, for files on this machine ``LoadFile``.
public struct LoadURL<Input: Sendable>: PipelineStep {
  private let load: LoadResponse<Input>

  /// Makes a step that loads the URL that it is given.
  ///
  /// - Parameters:
  ///   - session: the session that requests are made in.
  ///   - acceptedStatuses: the statuses that are a success; nil accepts all.
  ///   - maxRedirects: how many redirects are followed. One more is an `HTTPError`; with 0 a redirect is an answer like any
  ///     other. Traps if it is negative.
  ///   - headers: header fields that replace those of the request. A line break in one is an `HTTPError`.
  ///   - options: how long it may take, how much of an answer is taken, what is secret, and which servers are trusted.
  public init(
    session: URLSession = .shared, acceptedStatuses: Range<Int>? = 200..<300, maxRedirects: Int = 20,
    headers: HTTPHeaders = [:], options: HTTPOptions = HTTPOptions()
  ) where Input == URL {
    load = LoadResponse(
      session: session, acceptedStatuses: acceptedStatuses, maxRedirects: maxRedirects, headers: headers,
      options: options)
  }

  /// Makes a step that makes a request of what it is given.
  ///
  /// - Parameters:
  ///   - session: the session that requests are made in.
  ///   - acceptedStatuses: the statuses that are a success; nil accepts all.
  ///   - maxRedirects: how many redirects are followed. One more is an `HTTPError`; with 0 a redirect is an answer like any
  ///     other. Traps if it is negative.
  ///   - headers: header fields that replace those of the request. A line break in one is an `HTTPError`.
  ///   - options: how long it may take, how much of an answer is taken, what is secret, and which servers are trusted.
  ///   - request: makes the request; one with a body uploads it. Called for each run, and each attempt, where operations run.
  ///     What it throws is the failure of the step; `CancellationError` cancels.
  public init(
    session: URLSession = .shared, acceptedStatuses: Range<Int>? = 200..<300, maxRedirects: Int = 20,
    headers: HTTPHeaders = [:], options: HTTPOptions = HTTPOptions(),
    request: @escaping @Sendable (Input) throws -> URLRequest
  ) {
    load = LoadResponse(
      session: session, acceptedStatuses: acceptedStatuses, maxRedirects: maxRedirects, headers: headers,
      options: options, request: request)
  }

  /// Makes the operation; see ``PipelineStep/operation(for:)``.
  public func operation(for input: Input) throws -> SimpleOperation<Data> {
    try load.operation(for: input).map(\.body)
  }
}

/// A step that makes an HTTP request, and gives the whole answer: status, header fields and body, or the file that the body was
/// downloaded to.
///
/// See ``LoadURL`` for what it does otherwise.
public struct LoadResponse<Input: Sendable>: PipelineStep {
  private let make: @Sendable (Input) throws -> HTTPOperation

  /// Makes a step that loads the URL that it is given.
  ///
  /// - Parameters:
  ///   - session: the session that requests are made in.
  ///   - acceptedStatuses: the statuses that are a success; nil accepts all.
  ///   - maxRedirects: how many redirects are followed. One more is an `HTTPError`; with 0 a redirect is an answer like any
  ///     other. Traps if it is negative.
  ///   - headers: header fields that replace those of the request. A line break in one is an `HTTPError`.
  ///   - options: how long it may take, how much of an answer is taken, what is secret, and which servers are trusted.
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
  ///   - session: the session that requests are made in.
  ///   - acceptedStatuses: the statuses that are a success; nil accepts all.
  ///   - maxRedirects: how many redirects are followed. One more is an `HTTPError`; with 0 a redirect is an answer like any
  ///     other. Traps if it is negative.
  ///   - headers: header fields that replace those of the request. A line break in one is an `HTTPError`.
  ///   - options: how long it may take, how much of an answer is taken, what is secret, and which servers are trusted.
  ///   - transfer: what travels with a request: nothing but itself, a body to upload, or a file to download to. Called as
  ///     `request` is.
  ///   - request: makes the request. Called for each run, and each attempt, where operations run. What it throws is the failure
  ///     of the step; `CancellationError` cancels.
  public init(
    session: URLSession = .shared, acceptedStatuses: Range<Int>? = 200..<300, maxRedirects: Int = 20,
    headers: HTTPHeaders = [:], options: HTTPOptions = HTTPOptions(),
    transfer: @escaping @Sendable (Input) throws -> HTTPTransfer = { _ in .data },
    request: @escaping @Sendable (Input) throws -> URLRequest
  ) {
    require(
      maxRedirects >= 0,
      "A step that loads a URL was given \(maxRedirects) redirects to follow. Use 0 to follow none, or a positive number."
    )
    make = { input in
      HTTPOperation(
        try request(input), transfer: try transfer(input), session: session, acceptedStatuses: acceptedStatuses,
        maxRedirects: maxRedirects, headers: headers, options: options)
    }
  }

  /// Makes the operation; see ``PipelineStep/operation(for:)``.
  public func operation(for input: Input) throws -> SimpleOperation<HTTPResponse> {
    try make(input)
  }
}
