import CompositeOperations
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A request under way: one hop after the other, as long as there are redirects.
///
/// The transport tells it of a hop one call after the other: from a place that other requests share, or, as soon as there is a
/// body that goes to a file, from a queue for that. Cancels, the total time, and the news that the operation was settled
/// elsewhere come from other places. What a hop says after its end is not heard.
final class HTTPExchange: HTTPHopOwner, SettlementObserver, @unchecked Sendable {  // locked
  private struct Running {
    var state: HTTPExchangeState
    var hop: (any HTTPHop)?
    var file: PartialFile?
    var disk: DiskQueue?
    var timer: Timekeeper.Timer?
    /// Held while it runs: whoever can settle an operation keeps it alive.
    var operation: HTTPOperation?
  }

  /// How long a transport has to end a hop that is not wanted. Then it is as if it had: no server holds up a cancel.
  private static let patience = Duration.milliseconds(50)
  /// How long a disk has to remove a file. Then it does so later: no disk holds up an end.
  private static let patienceWithDisks = Duration.seconds(1)

  /// How long the body of a redirect, which nobody wants, may take to end by itself. Then its connection is not used again.
  private static let patienceWithRedirects = Duration.milliseconds(250)

  /// Whether the body of an answer may go to a file.
  let isDownload: Bool
  private let running: LockBox<Running>
  private let session: URLSession
  private let open: @Sendable (URL) throws -> FileHandle
  private let progress = ProgressMail()
  private let clock: Timekeeper
  /// Makes hops in place of the session, for tests; nil where the session does.
  private let substitute: (@Sendable () -> any HTTPHop)?

  /// - Parameters:
  ///   - clock: what the times are measured with, except that without anything sent or received.
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
      // Before anything is sent: `URLSession` would leave out what is wrong, or send it.
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
    // NaN is no time.
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
    // The cancel may have come while there was no hop yet.
    if isUnwanted { stop(hop) }
  }

  /// Why the server cannot prove the key that it is to prove, if so.
  private func insecurity(of state: HTTPExchangeState) -> String? {
    guard state.options.pins(of: state.request.url) != nil else { return nil }
    if state.request.url?.scheme != "https" { return "the server is to prove its key, which it cannot without TLS" }
    if session.looksAtKeys { return nil }
    return
      "the server is to prove its key, but on Linux no key can be looked at in a session with protocols of its own, and where "
      + "libcurl is not found"
  }

  // MARK: - From elsewhere

  func cancel() {
    endHop { $0.cancel() }
  }

  /// It may have been settled elsewhere; then the answer is not needed.
  func operationDidSettle(_ operation: Operation, tag: Int) {
    cancel()
  }

  private func timeIsOver(_ time: Duration) {
    endHop { $0.timedOut(after: time) }
  }

  /// The hop has neither sent nor received anything for so long.
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

  /// Ends the hop, of which no more is wanted.
  func stop(_ hop: any HTTPHop) {
    hop.cancel()
    _ = clock.at(clock.now + HTTPExchange.patience) { [weak self, weak hop] in
      if let self, let hop { ended(.cancelled, by: hop) }
    }
  }

  // MARK: - From the hop

  /// - Returns: where what comes of the body, and its end, is to be told; anywhere if there is none.
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
      // It may have taken its time.
      let unwanted = running.withLock { running in
        guard running.hop === hop else { return file as PartialFile? }
        defer { running.file = file }
        return running.file
      }
      unwanted?.discard()
    }
  }

  /// False if no more of it is wanted.
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

  /// - Parameter endsChallenge: whether it ended because nobody gave a password.
  func ended(_ end: HTTPHopEnd, by hop: any HTTPHop, endsChallenge: Bool) {
    let ended = running.withLock { running -> (HTTPExchangeState.Completion, PartialFile?)? in
      guard running.hop === hop else { return nil }
      let completion = running.state.completed(end, endsChallenge: endsChallenge)
      // Until its file is where it belongs, it can be cancelled.
      if case .succeed = completion, let file = running.file { return (completion, file) }
      running.hop = nil
      return (completion, running.file.take())
    }
    guard let (completion, file) = ended else { return }
    switch completion {
    case .follow:
      if let file { discard(file) }
      // Not here: the file to send once more is looked at.
      DispatchQueue.global().async { self.makeHop() }
    case .succeed(let response):
      guard let file else { return settle(with: .success(response)) }
      finish(file, of: hop, response)
    case .fail(let error): settle(with: .failure(error), discarding: file)
    case .cancel: settle(with: .cancelled, discarding: file)
    }
  }

  private func finish(_ file: PartialFile, of hop: any HTTPHop, _ response: HTTPResponse) {
    let finished = Result { try file.finish() }
    let isUnderWay = running.withLock { running in
      guard running.hop === hop else { return false }
      (running.hop, running.file) = (nil, nil)
      return true
    }
    switch finished {
    // Also if it was cancelled while it was put where it belongs: it is there.
    case .success(true): settle(with: .success(response))
    case .success(false): break
    case .failure where !isUnderWay: settle(with: .cancelled)
    case .failure(let error):
      settle(with: .failure(HTTPError(.unwritableFile, url: response.file, cause: error)))
    }
  }

  // MARK: - The end

  /// Does what may fail because of a file, in which case nothing else of the answer matters. Returns whether it did not.
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

  /// Removes a file, on a queue of its own: the disk may take its time. What goes on where it is being put where it belongs is not
  /// `goOn`, but ``finish(_:of:_:)``.
  private func discard(_ file: PartialFile, then goOn: @escaping @Sendable () -> Void = {}) {
    DispatchQueue(label: "CompositeOperations.HTTPOperations.discard").async {
      if file.discard() { goOn() }
    }
  }

  /// Settles when the file is gone, or the one that is being made.
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
    // Not here: completions, and whatever goes on with the outcome, would keep the other requests of the session waiting.
    DispatchQueue.global().async { operation.end(with: outcome) }
  }
}
