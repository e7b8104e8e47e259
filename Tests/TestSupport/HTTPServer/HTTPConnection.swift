import Dispatch

/// One client's connection: reads requests one after the other, asks its server for answers, and writes them.
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
  private var parser = HTTPRequestParser()
  private var pending: [UInt8] = []
  private var answering: HTTPRequest?
  private var isClosing = false
  private var isClosed = false
  private var sources = 1

  init(descriptor: Int32, queue: DispatchQueue, keepsConnection: Bool, handler: any HTTPConnectionHandler) {
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

  /// Ends the connection, answered or not. The descriptor is closed when no source watches it any more.
  func close() {
    guard !isClosed else { return }
    isClosed = true
    timer?.cancel()
    timer = nil
    if answering != nil {
      answering = nil
      handler.requestEnded(isAnswered: false)
    }
    output?.cancel()
    input.cancel()
  }

  private func sourceEnded() {
    sources -= 1
    guard isClosed, sources == 0 else { return }
    HTTPSocket.closeDescriptor(descriptor)
    handler.connectionClosed(self)
  }

  private func readAll() {
    var chunk = [UInt8](repeating: 0, count: 16 * 1024)
    while !isClosed {
      switch HTTPSocket.read(descriptor, into: &chunk) {
      case .bytes(let count): parser.append(chunk[..<count])
      case .wouldBlock: return answerNext()
      case .ended: return close()
      }
    }
  }

  /// Takes the next request when none is being answered.
  private func answerNext() {
    guard answering == nil, !isClosing, !isClosed else { return }
    switch parser.next() {
    case .incomplete: return
    case .malformed: close()
    case .request(let request):
      answering = request
      let answer = handler.answer(to: request)
      switch answer.hold {
      case .none: give(answer)
      case .gate(let gate): gate.whenOpen { self.queue.async { self.give(answer) } }
      case .time(let delay): give(answer, after: delay)
      }
    }
  }

  private func give(_ answer: HTTPAnswer, after delay: Duration) {
    let timer = DispatchSource.makeTimerSource(queue: queue)
    let (seconds, attoseconds) = delay.components
    timer.schedule(deadline: .now() + .nanoseconds(Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)))
    timer.setEventHandler { [weak self] in self?.give(answer) }
    timer.activate()
    self.timer = timer
  }

  private func give(_ answer: HTTPAnswer) {
    guard !isClosed, let request = answering else { return }
    timer?.cancel()
    timer = nil
    answering = nil
    // The request counts as over before the client can know it, so that no client sees more at a time than it made.
    handler.requestEnded(isAnswered: true)
    guard case .response = answer.content else { return close() }
    let keeps = keepsConnection && request.headers["connection"]?.lowercased() != "close"
    isClosing = !keeps
    pending += answer.bytes(for: request.method, keepsConnection: keeps)
    writeAll()
  }

  private func writeAll() {
    var rest = pending[...]
    while !isClosed, !rest.isEmpty {
      switch HTTPSocket.write(descriptor, rest) {
      case .bytes(let count): rest = rest.dropFirst(count)
      case .ended: return close()
      case .wouldBlock:
        pending = Array(rest)
        return watchOutput()
      }
    }
    pending = []
    output?.cancel()
    output = nil
    if isClosing { close() } else { answerNext() }
  }

  /// Goes on writing as soon as the client has read some.
  private func watchOutput() {
    guard output == nil else { return }
    let source = DispatchSource.makeWriteSource(fileDescriptor: descriptor, queue: queue)
    source.setEventHandler { [weak self] in self?.writeAll() }
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
