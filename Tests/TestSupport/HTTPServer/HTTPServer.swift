import Dispatch

/// A small HTTP/1.1 server on 127.0.0.1 for tests: it answers, waits, refuses, redirects and drops
/// as its routes say, and records what it was asked.
///
/// ```swift
/// let server = try HTTPServer()
/// server.route("/flaky", .failing(2, with: .retryLater(after: "0")))
/// // … let a client ask for server.url("/flaky") …
/// #expect(server.count(of: "GET", "/flaky") == 3)
/// await server.stop()
/// ```
///
/// Paths without a route are answered with 404. All methods may be called from any thread.
public final class HTTPServer: HTTPConnectionHandler, @unchecked Sendable {  // `listener` is a constant and thread-safe
  private struct State {
    var routes: [String: HTTPRoute] = [:]
    var counts: [String: Int] = [:]
    var running = 0
    var maxConcurrent = 0
    var abandoned = 0
    var connections: [ObjectIdentifier: HTTPConnection] = [:]
    var isStopped = false
    var isListening = true
    var stopWaiters: [@Sendable () -> Void] = []
  }

  /// The port that the system chose.
  public let port: UInt16

  /// Every request, in the order in which the server read them; tests wait here for a request.
  public let requests = EventRecorder<HTTPRequest>()

  /// How many requests were ended by the client before they were answered, as a list to wait on.
  public let abandonedRequests = EventRecorder<Int>()

  /// How many connections are open, each time one more or one less is.
  public let openConnections = EventRecorder<Int>()

  private let state = Locked(State())
  private let queue = DispatchQueue(label: "HTTPServer")
  private let listener: any DispatchSourceRead
  private let keepsConnections: Bool
  private let recordsRequests: Bool
  private let readsBodies: Bool

  /// Starts a server.
  ///
  /// - Parameters:
  ///   - keepsConnections: Whether a connection serves several requests. Without, the number of
  ///     requests is the number of attempts: clients silently ask again when a kept connection is
  ///     dropped under them.
  ///   - recordsRequests: Whether ``requests``, ``openConnections`` and ``abandonedRequests`` are
  ///     written. Without, the server takes no more memory however long it is asked.
  ///   - readsBodies: Whether a request is answered when its body has come. Without, it is answered
  ///     upon its header, and what comes of its body is taken for another request.
  public convenience init(
    keepsConnections: Bool = true, recordsRequests: Bool = true, readsBodies: Bool = true
  ) throws {
    let (descriptor, port) = try HTTPSocket.listen()
    self.init(
      descriptor, port: port, keepsConnections: keepsConnections, recordsRequests: recordsRequests,
      readsBodies: readsBodies)
  }

  /// Starts a server on ::1 alone, at a port that refuses connections on 127.0.0.1 as long as the
  /// second value lives: of the two addresses of `localhost`, one works.
  public static func besideRefusingPort() throws -> (server: HTTPServer, refusing: RefusingPort) {
    // Those that another server has in IPv6. They are kept, so that each is another one.
    var taken: [RefusingPort] = []
    while true {
      let refusing = try RefusingPort()
      do {
        let descriptor = try HTTPSocket.listenInIPv6(port: refusing.port)
        let server = HTTPServer(
          descriptor, port: refusing.port, keepsConnections: true, recordsRequests: true, readsBodies: true)
        return (server, refusing)
      } catch let failure as HTTPSocket.Failure where failure.isOfATakenPort && taken.count < 20 {
        taken.append(refusing)
      }
    }
  }

  /// Whether this machine has IPv6.
  public static let hasIPv6: Bool = {
    guard let descriptor = try? HTTPSocket.listenInIPv6(port: 0) else { return false }
    HTTPSocket.closeDescriptor(descriptor)
    return true
  }()

  private init(
    _ descriptor: Int32, port: UInt16, keepsConnections: Bool, recordsRequests: Bool, readsBodies: Bool
  ) {
    self.port = port
    self.readsBodies = readsBodies
    self.keepsConnections = keepsConnections
    self.recordsRequests = recordsRequests
    listener = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    listener.setEventHandler { [weak self] in
      while let connection = HTTPSocket.accept(descriptor) { self?.accepted(connection) }
    }
    listener.setCancelHandler { [weak self] in
      HTTPSocket.closeDescriptor(descriptor)
      self?.update { $0.isListening = false }
    }
    listener.resume()
  }

  deinit {
    listener.cancel()
  }

  /// The address of a path on this server.
  public func url(_ path: String = "/") -> String {
    "http://127.0.0.1:\(port)\(path)"
  }

  /// Sets how `path`, a path with its query, is answered from now on.
  public func route(_ path: String, _ route: HTTPRoute) {
    state.withLock { $0.routes[path] = route }
  }

  /// Sets the one answer that `path` is given from now on.
  public func route(_ path: String, _ answer: HTTPAnswer) {
    route(path, .always(answer))
  }

  /// How often `path` was asked for, with `method` when one is given.
  public func count(of method: String? = nil, _ path: String) -> Int {
    requests.events.count { $0.path == path && (method == nil || $0.method == method) }
  }

  /// The most requests that were read and not yet answered at any one time.
  public var maxConcurrent: Int {
    state.withLock { $0.maxConcurrent }
  }

  /// How many requests are read and not yet answered.
  public var running: Int {
    state.withLock { $0.running }
  }

  /// Stops listening, drops every connection, and returns when all sockets are closed.
  public func stop() async {
    listener.cancel()
    queue.async {
      let connections = self.state.withLock { state in
        state.isStopped = true
        return Array(state.connections.values)
      }
      for connection in connections { connection.close() }
      self.update { _ in }
    }
    await withCheckedContinuation { continuation in
      update { $0.stopWaiters.append { continuation.resume() } }
    }
  }

  private func accepted(_ descriptor: Int32) {
    let connection = HTTPConnection(
      descriptor: descriptor, queue: queue, keepsConnection: keepsConnections, readsBodies: readsBodies, handler: self)
    let (isStopped, count) = state.withLock { state in
      state.connections[ObjectIdentifier(connection)] = connection
      return (state.isStopped, state.connections.count)
    }
    if recordsRequests { openConnections.record(count) }
    connection.start()
    if isStopped { connection.close() }
  }

  func answer(to request: HTTPRequest) -> HTTPAnswer {
    let (numbered, route) = state.withLock { state in
      var request = request
      state.counts[request.path, default: 0] += 1
      request.number = state.counts[request.path] ?? 1
      state.running += 1
      state.maxConcurrent = max(state.maxConcurrent, state.running)
      return (request, state.routes[request.path])
    }
    let answer = route?.answer(numbered) ?? .status(404)
    if recordsRequests { requests.record(numbered) }
    return answer
  }

  func requestEnded(isAnswered: Bool) {
    let abandoned = state.withLock { state -> Int? in
      state.running -= 1
      guard !isAnswered else { return nil }
      state.abandoned += 1
      return state.abandoned
    }
    if let abandoned, recordsRequests { abandonedRequests.record(abandoned) }
  }

  func connectionClosed(_ connection: HTTPConnection) {
    let count = state.withLock { state in
      state.connections[ObjectIdentifier(connection)] = nil
      return state.connections.count
    }
    if recordsRequests { openConnections.record(count) }
    update { _ in }
  }

  /// Changes the state, and resumes the waiters of `stop()` when nothing is open.
  private func update(_ change: (inout State) -> Void) {
    let waiters = state.withLock { state in
      change(&state)
      guard state.isStopped, !state.isListening, state.connections.isEmpty else { return [@Sendable () -> Void]() }
      defer { state.stopWaiters = [] }
      return state.stopWaiters
    }
    for waiter in waiters { waiter() }
  }
}
