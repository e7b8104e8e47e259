import Dispatch

/// One client's connection: reads requests one after the other, asks its server for answers, and
/// writes them.
///
/// Everything happens on the server's queue.
final class HTTPConnection: @unchecked Sendable {  // only touched on `queue`
  private let descriptor: Int32
  private let queue: DispatchQueue
  private let keepsConnection: Bool
  private let handler: any HTTPConnectionHandler
  private let input: any DispatchSourceRead
  private var output: (any DispatchSourceWrite)?
  private var timer: (any DispatchSourceTimer)?
  /// The gate that the connection waits at, and the token there.
  private var closedGate: (gate: Gate, token: Int?)?
  private var parser: HTTPRequestParser
  private var pending: [UInt8] = []
  private var answering: HTTPRequest?
  /// The rest of the body of the answer that is being sent.
  private var body: HTTPBodyCursor?
  /// Whether a piece of the body waits for its hold.
  private var isHolding = false
  private var isClosing = false
  private var breaksOff = false
  private var isClosed = false
  private var sources = 1

  init(
    descriptor: Int32, queue: DispatchQueue, keepsConnection: Bool, readsBodies: Bool,
    handler: any HTTPConnectionHandler
  ) {
    parser = HTTPRequestParser(readsBodies: readsBodies)
    self.descriptor = descriptor
    self.queue = queue
    self.keepsConnection = keepsConnection
    self.handler = handler
    input = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
  }

  func start() {
    input.setEventHandler { [weak self] in self?.readAll() }
    input.setCancelHandler { self.sourceEnded() }
    input.resume()
  }

  /// Ends the connection, answered or not. The descriptor is closed when no source watches it.
  func close() {
    guard !isClosed else { return }
    isClosed = true
    timer?.cancel()
    timer = nil
    // The gate may never open, and would keep this and the server.
    if let closedGate { closedGate.gate.forget(closedGate.token) }
    closedGate = nil
    endRequest(isAnswered: false)
    body = nil
    output?.cancel()
    input.cancel()
  }

  private func sourceEnded() {
    sources -= 1
    guard isClosed, sources == 0 else { return }
    HTTPSocket.closeDescriptor(descriptor)
    handler.connectionClosed(self)
  }

  private func endRequest(isAnswered: Bool) {
    guard answering != nil else { return }
    answering = nil
    handler.requestEnded(isAnswered: isAnswered)
  }

  // MARK: - Reading

  private func readAll() {
    var chunk = [UInt8](repeating: 0, count: 64 * 1024)
    while !isClosed {
      switch HTTPSocket.read(descriptor, into: &chunk) {
      case .bytes(let count): parser.append(chunk[..<count])
      case .wouldBlock: return answerNext()
      case .ended:
        // A request that came together with the end counts: the client has abandoned it.
        answerNext()
        return close()
      }
    }
  }

  /// Takes the next request when none is being answered.
  private func answerNext() {
    guard answering == nil, body == nil, !isClosing, !isClosed else { return }
    switch parser.next() {
    case .incomplete:
      if parser.takeExpectation() { write(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }
    case .malformed: close()
    case .request(let request):
      answering = request
      let answer = handler.answer(to: request)
      wait(for: answer.hold) { $0.give(answer) }
    }
  }

  /// Continues on the queue when the hold is over.
  private func wait(for hold: HTTPHold, then goOn: @escaping @Sendable (HTTPConnection) -> Void) {
    switch hold {
    case .none: goOn(self)
    case .gate(let gate):
      let token = gate.register {
        self.queue.async {
          self.closedGate = nil
          goOn(self)
        }
      }
      closedGate = (gate, token)
    case .time(let delay):
      let timer = DispatchSource.makeTimerSource(queue: queue)
      let (seconds, attoseconds) = delay.components
      timer.schedule(deadline: .now() + .nanoseconds(Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)))
      timer.setEventHandler { [weak self] in
        guard let self else { return }
        self.timer?.cancel()
        self.timer = nil
        goOn(self)
      }
      timer.activate()
      self.timer = timer
    }
  }

  // MARK: - Answering

  private func give(_ answer: HTTPAnswer) {
    guard !isClosed, let request = answering else { return }
    switch answer.content {
    case .drop:
      endRequest(isAnswered: true)
      close()
    case .reset:
      endRequest(isAnswered: true)
      HTTPSocket.breakOff(descriptor)
      close()
    case .raw(let content):
      endRequest(isAnswered: true)
      isClosing = true
      breaksOff = answer.endsWithReset
      body = HTTPBodyCursor(content)
      goOn()
    case .response(let status, let headers, let content):
      let keeps = keepsConnection && request.headers["connection"]?.lowercased() != "close"
      isClosing = !keeps || content.sentByteCount != nil
      pending += HTTPAnswer.head(status: status, headers: headers, body: content, keepsConnection: keeps)
      let hasBody = request.method != "HEAD" && status != 204 && status != 304
      body = HTTPBodyCursor(hasBody ? content : HTTPBody([UInt8]()))
      goOn()
    }
  }

  private func write(_ bytes: [UInt8]) {
    pending += bytes
    goOn()
  }

  /// Sends until a piece or the client makes it wait.
  private func goOn() {
    while !isClosed {
      if pending.count < 64 * 1024, takePiece() { continue }
      guard flush() else { return }
      guard body == nil else {
        if isHolding { return }
        continue
      }
      if !isClosing { return answerNext() }
      return breaksOff ? breakOffWhenDelivered() : close()
    }
  }

  /// Bytes that the client's system has not received would be lost.
  private func breakOffWhenDelivered() {
    guard !isClosed else { return }
    if HTTPSocket.undeliveredByteCount(descriptor) > 0 {
      return wait(for: .time(.milliseconds(1))) { $0.breakOffWhenDelivered() }
    }
    HTTPSocket.breakOff(descriptor)
    close()
  }

  /// Takes the next piece of the body. Returns false if there is none, or it must wait.
  private func takePiece() -> Bool {
    guard var cursor = body, !isHolding else { return false }
    let piece = cursor.next()
    body = cursor
    guard let piece else {
      endBody()
      return true
    }
    if case .none = piece.hold {
      append(piece)
      return true
    }
    isHolding = true
    wait(for: piece.hold) { connection in
      connection.isHolding = false
      connection.append(piece)
      connection.goOn()
    }
    return false
  }

  private func append(_ piece: HTTPPiece) {
    guard !isClosed, var cursor = body else { return }
    pending += cursor.framed(piece)
    body = cursor
    if cursor.isAtEnd { endBody() }
  }

  private func endBody() {
    body = nil
    // The request counts as over before the client can know it, so that no client sees more at a
    // time than it made.
    endRequest(isAnswered: true)
  }

  /// Returns whether everything was written, and the client is still there.
  private func flush() -> Bool {
    var rest = pending[...]
    while !isClosed, !rest.isEmpty {
      switch HTTPSocket.write(descriptor, rest) {
      case .bytes(let count): rest = rest.dropFirst(count)
      case .ended: close()
      case .wouldBlock:
        pending = Array(rest)
        watchOutput()
        return false
      }
    }
    pending = []
    output?.cancel()
    output = nil
    return !isClosed
  }

  /// Continues writing as soon as the client has read some.
  private func watchOutput() {
    guard output == nil else { return }
    let source = DispatchSource.makeWriteSource(fileDescriptor: descriptor, queue: queue)
    source.setEventHandler { [weak self] in self?.goOn() }
    source.setCancelHandler { self.sourceEnded() }
    sources += 1
    output = source
    source.resume()
  }
}

/// What a connection needs from its server, called on the server's queue.
protocol HTTPConnectionHandler: AnyObject {
  func answer(to request: HTTPRequest) -> HTTPAnswer
  func requestEnded(isAnswered: Bool)
  func connectionClosed(_ connection: HTTPConnection)
}
