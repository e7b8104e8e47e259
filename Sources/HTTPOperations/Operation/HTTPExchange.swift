import CompositeOperations
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A request under way: one hop after the other, as long as there are redirects.
///
/// The transport reports a hop in serial calls. They come from a thread that requests share or, as
/// soon as a body goes to a file, from a queue for that file. Cancels, the total time, and the news
/// that the operation was settled elsewhere come from other threads. Reports of a hop that has
/// ended are ignored.
final class HTTPExchange: HTTPHopOwner, SettlementObserver, @unchecked Sendable {  // locked
  private struct Running {
    var state: HTTPExchangeState
    var hop: (any HTTPHop)?
    var file: PartialFile?
    var disk: DiskQueue?
    var timer: Timekeeper.Timer?
    /// Retained while it runs, for the exchange settles it.
    var operation: HTTPOperation?
  }

  /// How long a transport has to end an unwanted hop. After that the hop counts as ended: no server
  /// delays a cancel.
  private static let patience = Duration.milliseconds(50)
  /// How long a disk has to remove a file. After that the operation settles before: no disk delays
  /// an end.
  private static let patienceWithDisks = Duration.seconds(1)

  /// How long the unwanted body of a redirect may take to end by itself. After that its connection
  /// is not reused.
  private static let patienceWithRedirects = Duration.milliseconds(250)

  /// Whether the body of an answer may go to a file.
  let isDownload: Bool
  private let running: LockBox<Running>
  private let session: URLSession
  private let open: @Sendable (URL) throws -> FileHandle
  private let progress = ProgressMail()
  private let clock: Timekeeper
  /// Makes hops in place of the session, for tests; nil if the session makes them.
  private let substitute: (@Sendable () -> any HTTPHop)?

  /// - Parameters:
  ///   - clock: measures the times, except the time without anything sent or received.
  ///   - open: opens the file that a download is written to.
  ///   - substitute: makes hops in place of the session.
  init(
    _ state: HTTPExchangeState, session: URLSession, clock: Timekeeper = .of(ContinuousClock()),
    opening open: @escaping @Sendable (URL) throws -> FileHandle, substitute: (@Sendable () -> any HTTPHop)? = nil
  ) {
    running = LockBox(Running(state: state))
    if case .download = state.transfer { isDownload = true } else { isDownload = false }
    self.clock = clock
    self.open = open
    self.session = session
    self.substitute = substitute
  }

  func start(for operation: HTTPOperation) {
    let fields = session.fieldsOfEveryRequest
    let state = running.withLock { running in
      running.operation = operation
      // Before anything is sent: `URLSession` would leave out invalid fields, or send them.
      running.state.check(fields)
      if !URLSession.addsFieldsOfConfiguration { running.state.add(fields) }
      return running.state
    }
    guard operation.observe(self) else { return settle(with: .cancelled) }
    let identifier = session.configuration.identifier
    if let error = HTTPRequestCheck.mistake(in: state, sessionIdentifier: identifier) {
      return settle(with: .failure(error))
    }
    let timeOfTheSession = session.configuration.timeoutIntervalForResource
    // NaN is not a time.
    let time = min(
      state.options.totalTime, .seconds(timeOfTheSession < .endless ? max(0, timeOfTheSession) : .endless))
    let timer = clock.at(clock.now + time) { [weak self] in self?.timeIsOver(time) }
    let isSettled = running.withLock { running in
      if running.operation != nil { running.timer = timer }
      return running.operation == nil
    }
    if isSettled { clock.cancel(timer) }
    makeHop()
  }

  /// Makes the request of the next hop.
  private func makeHop() {
    let state = running.withLock { $0.state }
    // It may have been cancelled before there was a hop, or between two.
    if state.isCancelled { return settle(with: .cancelled) }
    if let mistake = state.mistake { return settle(with: .failure(mistake)) }
    if let detail = insecurity(of: state) {
      return settle(with: .failure(HTTPError(.insecureConnection, url: state.request.url, detail: detail)))
    }
    let hop =
      substitute?()
      ?? session.hop(state.request, uploading: state.upload, to: state.place, options: state.options, for: self)
    let isUnwanted = running.withLock { running in
      running.hop = hop
      return running.state.isOver
    }
    hop.resume()
    // A cancel may have come while the hop was made.
    if isUnwanted { stop(hop) }
  }

  /// The error if the server has to prove a key, and the key cannot be checked.
  private func insecurity(of state: HTTPExchangeState) -> String? {
    guard state.options.pins(of: state.request.url) != nil else { return nil }
    if state.request.url?.scheme != "https" { return "the server is to prove its key, which it cannot without TLS" }
    if session.looksAtKeys { return nil }
    return
      "the server is to prove its key, but on Linux no key can be looked at in a session with protocols of its own, and where "
      + "libcurl is not found"
  }

  // MARK: - From other threads

  func cancel() {
    endHop { $0.cancel() }
  }

  /// The operation may have been settled elsewhere; then the answer is not needed.
  func operationDidSettle(_ operation: Operation, tag: Int) {
    cancel()
  }

  func timeIsOver(_ time: Duration) {
    endHop { $0.timedOut(after: time) }
  }

  /// The hop has neither sent nor received anything for this time.
  func idled(for time: Duration, _ hop: any HTTPHop) {
    let isUnderWay = running.withLock { running in
      guard running.hop === hop else { return false }
      running.state.idled(for: time)
      return true
    }
    if isUnderWay { stop(hop) }
  }

  private func endHop(_ change: (inout HTTPExchangeState) -> Void) {
    let hop = running.withLock { running in
      change(&running.state)
      return running.hop
    }
    if let hop { stop(hop) }
  }

  /// The body of a redirect has not ended in time.
  private func endRedirect(_ hop: any HTTPHop) {
    if running.withLock({ $0.hop === hop }) { stop(hop) }
  }

  /// Ends the hop early.
  func stop(_ hop: any HTTPHop) {
    hop.cancel()
    _ = clock.at(clock.now + HTTPExchange.patience) { [weak self, weak hop] in
      if let self, let hop { ended(.cancelled, by: hop) }
    }
  }

  // MARK: - From the hop

  /// - Returns: the queue on which to report the body and the end; nil for any thread.
  func responded(_ answer: HTTPExchangeState.Answer, from hop: any HTTPHop) -> DiskQueue? {
    let responded = running.withLock { running -> (HTTPExchangeState.Destination, DiskQueue?, PartialFile?)? in
      guard running.hop === hop else { return nil }
      let destination = running.state.responded(answer)
      guard case .file = destination else { return (destination, nil, running.file.take()) }
      let disk = running.disk ?? DiskQueue()
      running.disk = disk
      return (destination, disk, nil)
    }
    guard let (destination, disk, old) = responded else { return nil }
    if let old { discard(old) }
    if destination == .nowhere {
      _ = clock.at(clock.now + HTTPExchange.patienceWithRedirects) { [weak self, weak hop] in
        if let self, let hop { endRedirect(hop) }
      }
    }
    if case .file(let url) = destination { disk?.add { self.makeFile(for: url, of: hop) } }
    return disk
  }

  private func makeFile(for url: URL, of hop: any HTTPHop) {
    _ = writing(to: url) {
      let file = try PartialFile(for: url, opening: open)
      // Opening may have taken long.
      let unwanted = running.withLock { running in
        guard running.hop === hop else { return file as PartialFile? }
        defer { running.file = file }
        return running.file
      }
      unwanted?.discard()
    }
  }

  /// Returns false if no more of the body is wanted.
  func received(_ data: Data, from hop: any HTTPHop) -> Bool {
    let part = running.withLock { running -> (HTTPExchangeState.Received, PartialFile?, HTTPOperation?)? in
      guard running.hop === hop else { return nil }
      return (running.state.received(data), running.file, running.operation)
    }
    guard let (received, file, operation) = part else { return false }
    if let file, !writing(to: file.destination, { try file.write(data) }) { return false }
    switch received {
    case .enough: return false
    case .more(let part?): if let operation { progress.report(part.count, of: part.total, to: operation) }
    case .more(nil): break
    }
    return true
  }

  func sent(_ count: Int, of total: Int, by hop: any HTTPHop) {
    let operation = running.withLock { $0.hop === hop && $0.state.upload != nil ? $0.operation : nil }
    if let operation { progress.report(count, of: total, to: operation) }
  }

  /// - Parameter endsChallenge: whether it ended because no password was given.
  func ended(_ end: HTTPHopEnd, by hop: any HTTPHop, endsChallenge: Bool) {
    let ended = running.withLock { running -> (HTTPExchangeState.Completion, PartialFile?)? in
      guard running.hop === hop else { return nil }
      let completion = running.state.completed(end, endsChallenge: endsChallenge)
      // It can be cancelled until the file is in its place.
      if case .succeed = completion, let file = running.file { return (completion, file) }
      running.hop = nil
      return (completion, running.file.take())
    }
    guard let (completion, file) = ended else { return }
    switch completion {
    case .follow:
      if let file { discard(file) }
      // On another thread: this looks at the file to send again.
      QualityOfService.default.promptQueue.async { self.makeHop() }
    case .succeed(let response):
      guard let file else { return settle(with: .success(response)) }
      finish(file, of: hop, response)
    case .fail(let error): settle(with: .failure(error), discarding: file)
    case .cancel: settle(with: .cancelled, discarding: file)
    }
  }

  private func finish(_ file: PartialFile, of hop: any HTTPHop, _ response: HTTPResponse) {
    let finished = Result { try file.finish() }
    let state = running.withLock { running in
      if running.hop === hop { (running.hop, running.file) = (nil, nil) }
      return running.state
    }
    switch finished {
    // Also if it was cancelled, or its time was over, while the file was moved: the file is there.
    case .success(true): settle(with: .success(response))
    case .success(false): break
    case .failure where state.isCancelled: settle(with: .cancelled)
    case .failure(let error):
      settle(with: .failure(state.mistake ?? HTTPError(.unwritableFile, url: response.file, cause: error)))
    }
  }

  // MARK: - The end

  /// Writes to a file. If that fails, the rest of the answer does not matter. Returns whether it
  /// succeeded.
  private func writing(to destination: URL, _ write: () throws -> Void) -> Bool {
    do {
      try write()
      return true
    } catch {
      let file = running.withLock { $0.file.take() }
      if let file { discard(file) }
      endHop { $0.fail(HTTPError(.unwritableFile, url: destination, cause: error)) }
      return false
    }
  }

  /// Removes a file, on a queue of its own: the disk may be slow. If the file is being moved to its
  /// place, ``finish(_:of:_:)`` goes on, and `goOn` is not called.
  private func discard(_ file: PartialFile, then goOn: @escaping @Sendable () -> Void = {}) {
    DispatchQueue(label: "CompositeOperations.HTTPOperations.discard").async {
      if file.discard() { goOn() }
    }
  }

  /// Settles when the file is removed, also a file that is still being made.
  private func settle(with outcome: Outcome<HTTPResponse>, discarding file: PartialFile?) {
    if let file {
      discard(file) { self.settle(with: outcome) }
    } else if let disk = running.withLock({ $0.disk }) {
      disk.add { self.settle(with: outcome) }
    } else {
      return settle(with: outcome)
    }
    _ = clock.at(clock.now + HTTPExchange.patienceWithDisks) { [weak self] in self?.settle(with: outcome) }
  }

  private func settle(with outcome: Outcome<HTTPResponse>) {
    let (operation, timer) = running.withLock { ($0.operation.take(), $0.timer.take()) }
    if let timer { clock.cancel(timer) }
    guard let operation else { return }
    // On another thread: completions, and work that follows, would delay the other requests of the
    // session.
    QualityOfService.default.promptQueue.async { operation.end(with: outcome) }
  }
}
