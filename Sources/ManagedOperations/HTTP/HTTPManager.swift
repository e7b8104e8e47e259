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
/// It is an ``OperationManager`` for ``HTTPTask``s, with a session that they are made in. A request is sent as it is, with the
/// session's header fields and cookies, and what interceptors add; nothing else, and the session and its configuration are
/// left as they are.
///
/// All members may be used from any thread. When the manager is released, requests under way end normally, and others settle
/// with ``ManagedTaskError``, whose code is `managerReleased`.
///
/// Follows Tasker's `URLTaskManager`, which puts itself between the session and the network.
public final class HTTPManager: Sendable {
  /// The manager of the tasks: for its events, limits and held tasks, and for tasks of other types.
  public let operations: OperationManager
  /// The session that requests are made in.
  public let session: URLSession
  /// How long a request may take, how much of an answer is taken, what is secret, and which servers are trusted, for tasks that
  /// say nothing else.
  public let options: HTTPOptions
  private let owner: SessionOwner?

  /// Makes a manager whose requests are made in a session that exists.
  ///
  /// - Parameters:
  ///   - session: the session. It must not be invalidated as long as requests are under way. Its own limits hold too, such as
  ///     `httpMaximumConnectionsPerHost`.
  ///   - name: the manager's name, for descriptions and messages.
  ///   - options: how long a request may take, how much of an answer is taken, what is secret, and which servers are trusted; for
  ///     tasks without options of their own.
  ///   - operationQueue: the queue to execute attempts in; nil for worker threads of Dispatch.
  ///   - interceptors: who is asked before a request is made, in this order.
  ///   - reactors: who is asked when an attempt has ended.
  ///   - clock: the clock for delays and timeouts.
  public init(
    session: URLSession = .shared, name: String = "http", options: HTTPOptions = HTTPOptions(),
    operationQueue: OperationQueue? = nil,
    interceptors: [any Interceptor] = [], reactors: [any Reactor] = [], clock: some Clock<Duration> = ContinuousClock()
  ) {
    operations = OperationManager(
      name: name, operationQueue: operationQueue, interceptors: interceptors, reactors: reactors, clock: clock)
    self.session = session
    self.options = options
    owner = nil
  }

  /// Makes a manager with a session of its own, which is invalidated when nobody needs it any more.
  ///
  /// - Parameters:
  ///   - configuration: what the session is like. It is copied, and not changed.
  ///   - name: the manager's name, for descriptions and messages.
  ///   - options: how long a request may take, how much of an answer is taken, what is secret, and which servers are trusted; for
  ///     tasks without options of their own.
  ///   - operationQueue: the queue to execute attempts in; nil for worker threads of Dispatch.
  ///   - interceptors: who is asked before a request is made, in this order.
  ///   - reactors: who is asked when an attempt has ended.
  ///   - clock: the clock for delays and timeouts.
  public init(
    configuration: URLSessionConfiguration, name: String = "http", options: HTTPOptions = HTTPOptions(),
    operationQueue: OperationQueue? = nil,
    interceptors: [any Interceptor] = [], reactors: [any Reactor] = [], clock: some Clock<Duration> = ContinuousClock()
  ) {
    operations = OperationManager(
      name: name, operationQueue: operationQueue, interceptors: interceptors, reactors: reactors, clock: clock)
    let owner = SessionOwner(configuration)
    session = owner.session
    self.options = options
    self.owner = owner
  }

  // MARK: - Adding

  /// Adds a task, and returns its handle.
  ///
  /// - Parameters:
  ///   - task: the task. Without a session of its own it is made in the manager's.
  ///   - startImmediately: whether it is started now; otherwise whoever starts the handle does it.
  ///   - delay: how long it waits, after it was started, before the interceptors are asked.
  ///   - timeout: how long an attempt may execute; nil for the task's own.
  @discardableResult
  public func add(
    _ task: HTTPTask, startImmediately: Bool = true, after delay: Duration? = nil, timeout: Duration? = nil
  ) -> OperationHandle<HTTPResponse> {
    operations.add(prepared(task), startImmediately: startImmediately, after: delay, timeout: timeout)
  }

  /// The task with the manager's session and options, unless it has its own.
  private func prepared(_ task: HTTPTask) -> HTTPTask {
    var task = task
    task.options = task.options ?? options
    guard task.session == nil else { return task }
    task.session = session
    task.sessionOwner = owner
    return task
  }

  /// Adds a request, whose statuses from 200 to 299 are a success, and returns its handle.
  ///
  /// See ``add(_:startImmediately:after:timeout:)``.
  @discardableResult
  public func add(
    _ request: URLRequest, transfer: HTTPTransfer = .data, startImmediately: Bool = true, after delay: Duration? = nil,
    timeout: Duration? = nil
  ) -> OperationHandle<HTTPResponse> {
    add(HTTPTask(request, transfer: transfer), startImmediately: startImmediately, after: delay, timeout: timeout)
  }

  /// Adds several tasks. Those without a session of their own are made in the manager's.
  ///
  /// - Parameters:
  ///   - tasks: the tasks.
  ///   - inOrder: whether each is started when the one before has settled, however it did. Otherwise all are at once.
  ///   - startImmediately: whether the first or all are started now. If not, somebody starts the group.
  ///   - delay: how long each waits after it was started.
  ///   - timeout: how long an attempt of each may execute; nil for the task's own.
  /// - Returns: an operation for all of them together, with their handles.
  @discardableResult
  public func add(
    contentsOf tasks: some Sequence<HTTPTask>, inOrder: Bool = false, startImmediately: Bool = true,
    after delay: Duration? = nil, timeout: Duration? = nil
  ) -> HandleGroup<HTTPResponse> {
    operations.add(
      contentsOf: tasks.map(prepared), inOrder: inOrder, startImmediately: startImmediately, after: delay,
      timeout: timeout)
  }

  // MARK: - Waiting for the answer

  /// Adds a task, and waits for its answer. Cancelling the calling task cancels the request.
  ///
  /// - Throws: what the task failed with: an `HTTPStatusError`, an `HTTPError`, a ``ManagedTaskError`` or what a reactor said;
  ///   `CancellationError` if it was cancelled.
  @discardableResult
  public func run(_ task: HTTPTask) async throws -> HTTPResponse {
    try await add(task, startImmediately: false).run()
  }

  /// Makes a request, and waits for the answer with its body in memory. Cancelling the calling task cancels the request.
  ///
  /// - Throws: as ``run(_:)`` does; an `HTTPStatusError` if the status is not from 200 to 299.
  public func data(for request: URLRequest) async throws -> HTTPResponse {
    try await run(HTTPTask(request))
  }

  /// Makes a request with a body, and waits for the answer. Cancelling the calling task cancels the request.
  ///
  /// - Parameters:
  ///   - request: the request. Its method may not be GET or HEAD.
  ///   - upload: the body: bytes or a file.
  /// - Throws: as ``run(_:)`` does; an `HTTPStatusError` if the status is not from 200 to 299.
  @discardableResult
  public func upload(for request: URLRequest, from upload: HTTPUpload) async throws -> HTTPResponse {
    try await run(HTTPTask(request, transfer: .upload(upload)))
  }

  /// Makes a request, and waits until the body of the answer is in a file. Cancelling the calling task cancels the request.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - file: where the body is written to. It appears when all of it has come; see `HTTPTransfer.download(to:)`.
  /// - Throws: as ``run(_:)`` does; an `HTTPStatusError` if the status is not from 200 to 299.
  @discardableResult
  public func download(for request: URLRequest, to file: URL) async throws -> HTTPResponse {
    try await run(HTTPTask(request, transfer: .download(to: file)))
  }

  /// Makes a request, and decodes the body of the answer. Cancelling the calling task cancels the request.
  ///
  /// - Parameters:
  ///   - type: what it is decoded as.
  ///   - request: the request.
  ///   - decoder: how it is decoded.
  /// - Throws: as ``run(_:)`` does; an `HTTPStatusError` if the status is not from 200 to 299; and what the decoder throws.
  public func decode<T: Decodable>(
    _ type: T.Type, for request: URLRequest, decoder: JSONDecoder = JSONDecoder()
  ) async throws -> T {
    try decoder.decode(type, from: try await data(for: request).body)
  }

  // MARK: - The end

  /// Waits until nothing that was started is left to do. See ``OperationManager/waitUntilIdle()``.
  public func waitUntilIdle() async { await operations.waitUntilIdle() }

  /// Cancels all requests, and takes no more. Returns when nothing is left to do. See ``OperationManager/shutdown()``.
  public func shutdown() async { await operations.shutdown() }
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
