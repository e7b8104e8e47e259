import CompositeOperations
public import Foundation
public import HTTPOperations

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

/// A client for HTTP whose requests go through interceptors and reactors.
///
/// ```swift
/// let http = HTTPManager(
///   interceptors: [.headers { _ in ["Authorization": "Bearer \(await tokens.current)"] }],
///   reactors: [.refreshingToken { _ in try await tokens.refresh() }])
/// let page = try await http.data(for: URLRequest(url: url))
/// let forecast = try await http.decode(Forecast.self, for: URLRequest(url: forecastURL))
/// ```
///
/// It is a session and an ``OperationManager``, ``operations``, which makes ``HTTPTask``s in that
/// session. For handles, groups, limits, events and the end use that one:
///
/// ```swift
/// let handle = http.operations.add(HTTPTask(URLRequest(url: url)))
/// await http.operations.stop(grace: .seconds(5))
/// ```
///
/// A request is sent as it is, with the session's header fields and cookies, and with what
/// interceptors add. The session and its configuration are not changed.
///
/// Any thread may use all members. When the manager is released, requests under way end normally,
/// and others fail with ``ManagedTaskError``, whose code is `managerReleased`.
public final class HTTPManager: Sendable {
  /// The manager of the requests. An ``HTTPTask`` that is added to it uses the ``session`` and the
  /// options of the HTTP manager, unless it has its own. It takes tasks of other types, too.
  public let operations: OperationManager
  /// The session that requests are made in.
  public let session: URLSession

  /// Makes a manager whose requests are made in an existing session.
  ///
  /// - Parameters:
  ///   - session: the session. Do not invalidate it while requests are under way. Its own limits
  ///     hold, too, such as `httpMaximumConnectionsPerHost`.
  ///   - name: the manager's name, for descriptions and messages.
  ///   - options: the limits, secrets and trusted servers of tasks without options of their own.
  ///   - operationQueue: the queue to execute attempts in; nil for worker threads of Dispatch.
  ///   - interceptors: are asked before a request is made, in this order.
  ///   - reactors: are asked when an attempt has ended.
  ///   - clock: the clock for delays and timeouts.
  public convenience init(
    session: URLSession = .shared, name: String = "http", options: HTTPOptions = HTTPOptions(),
    operationQueue: OperationQueue? = nil,
    interceptors: [any Interceptor] = [], reactors: [any Reactor] = [], clock: some Clock<Duration> = ContinuousClock()
  ) {
    self.init(
      HTTPDefaults(session: session, owner: nil, options: options), name, operationQueue, interceptors, reactors, clock)
  }

  /// Makes a manager with a session of its own, which is invalidated when neither the manager nor a
  /// request needs it.
  ///
  /// - Parameters:
  ///   - configuration: what the session is like. It is copied, and not changed.
  ///   - name: the manager's name, for descriptions and messages.
  ///   - options: the limits, secrets and trusted servers of tasks without options of their own.
  ///   - operationQueue: the queue to execute attempts in; nil for worker threads of Dispatch.
  ///   - interceptors: are asked before a request is made, in this order.
  ///   - reactors: are asked when an attempt has ended.
  ///   - clock: the clock for delays and timeouts.
  public convenience init(
    configuration: URLSessionConfiguration, name: String = "http", options: HTTPOptions = HTTPOptions(),
    operationQueue: OperationQueue? = nil,
    interceptors: [any Interceptor] = [], reactors: [any Reactor] = [], clock: some Clock<Duration> = ContinuousClock()
  ) {
    let owner = SessionOwner(configuration)
    self.init(
      HTTPDefaults(session: owner.session, owner: owner, options: options), name, operationQueue, interceptors,
      reactors, clock)
  }

  private init(
    _ defaults: HTTPDefaults, _ name: String, _ operationQueue: OperationQueue?, _ interceptors: [any Interceptor],
    _ reactors: [any Reactor], _ clock: some Clock<Duration>
  ) {
    session = defaults.session
    operations = OperationManager(
      name: name, operationQueue: operationQueue, interceptors: interceptors, reactors: reactors, clock: clock,
      taskDefaults: defaults)
  }

  /// Makes a request, and waits for the answer with its body in memory. Cancelling the calling task
  /// cancels the request.
  ///
  /// - Throws: an `HTTPStatusError` if the status is not from 200 to 299, an `HTTPError`, a
  ///   ``ManagedTaskError`` or the error of a reactor; `CancellationError` if it was cancelled.
  public func data(for request: URLRequest) async throws -> HTTPResponse {
    try await operations.run(HTTPTask(request))
  }

  /// Makes a request with a body, and waits for the answer. Cancelling the calling task cancels the
  /// request.
  ///
  /// - Parameters:
  ///   - request: the request. Its method may not be GET or HEAD.
  ///   - upload: the body: bytes or a file.
  /// - Throws: as ``data(for:)`` does.
  @discardableResult
  public func upload(for request: URLRequest, from upload: HTTPUpload) async throws -> HTTPResponse {
    try await operations.run(HTTPTask(request, transfer: .upload(upload)))
  }

  /// Makes a request, and waits until the body of the answer is in a file. Cancelling the calling
  /// task cancels the request.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - file: where the body is written to. It appears when it is complete; see
  ///     `HTTPTransfer.download(to:)`.
  /// - Throws: as ``data(for:)`` does.
  @discardableResult
  public func download(for request: URLRequest, to file: URL) async throws -> HTTPResponse {
    try await operations.run(HTTPTask(request, transfer: .download(to: file)))
  }

  /// Makes a request, and decodes the body of the answer. Cancelling the calling task cancels the
  /// request.
  ///
  /// - Parameters:
  ///   - type: what it is decoded as.
  ///   - request: the request.
  ///   - decoder: how it is decoded.
  /// - Throws: as ``data(for:)`` does; and what the decoder throws.
  public func decode<T: Decodable>(
    _ type: T.Type, for request: URLRequest, decoder: JSONDecoder = JSONDecoder()
  ) async throws -> T {
    try decoder.decode(type, from: try await data(for: request).body)
  }
}

/// What an ``HTTPTask`` gets that has no session or options of its own.
struct HTTPDefaults: TaskDefaults {
  let session: URLSession
  let owner: SessionOwner?
  let options: HTTPOptions

  func applied<T: ManagedTask>(to task: T) -> T {
    guard var http = task as? HTTPTask else { return task }
    http.options = http.options ?? options
    if http.session == nil {
      http.session = session
      http.sessionOwner = owner
    }
    return http as! T
  }
}

/// A session that is invalidated when neither its manager nor a request needs it.
final class SessionOwner: Sendable {
  let session: URLSession

  init(_ configuration: URLSessionConfiguration) {
    session = URLSession(configuration: configuration)
  }

  deinit {
    session.finishTasksAndInvalidateTwin()
  }
}
