import CompositeOperations
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

// This folder has all differences between URLSession on Linux (swift-corelibs-foundation, Swift
// 6.3) and on Apple platforms that matter here. On Linux libcurl makes most requests: see Curl.
// URLSession there makes those of sessions with protocols of their own, and of programs in which
// libcurl is not found. What was found on Linux:
//
// - The delegate of a task is told of redirects and challenges only. Data, and what was sent, goes
//   to the session's delegate, which cannot be set later. So requests run in a session of our own
//   with the same configuration.
// - A redirect with 307 or 308 loses the body. Header fields for one server, `Authorization` too,
//   are sent to the next. A redirect to `file:///x` becomes one to `/x` on the same server. So
//   redirects are not left to it, anywhere.
// - 401 with a challenge for a password (Basic, Digest) waits for ever if no code answers the
//   challenge. Answering with a password for Digest ends the process.
// - A file that is uploaded ends the process if the request ends early, cancelled or not: it was
//   being read meanwhile. Of a body in memory, what was sent is missing if the request has to be
//   made again because a kept connection was closed. So every body is sent as a stream, which can
//   be had anew. A stream is sent in chunks, unless a length is given and libcurl is told, by an
//   empty field, not to name an encoding.
// - Answering whether a redirect is followed ends the process if the task was cancelled in between.
// - No stored password is ever proposed: a `URLCredentialStorage` does not find again what was
//   stored in it.
// - With a cache, a task that is started waits for it, and so does its cancel; then both are handed
//   to the work queue one after the other, from another thread. If the task ends in between, the
//   cancel looks for one that is gone, which ends the process ("Trying to access a behaviour for a
//   task that in not in the registry"). Without a cache both are handed over while the work queue
//   is held, so that nothing can come in between. Of the answers to tasks like ours none is ever
//   stored. So our sessions have no cache.
// - A timeout that is over while the delegate is asked about a redirect ends the task without a
//   word, and the process as soon as the delegate answers. Timeouts are cut to whole seconds: half
//   a second is none at all, and is over at once. So timeouts are not left to it: see
//   IdleTimer.swift.
// - `cancel()` waits for the session's work queue, and never returns if it is called there.
// - A body that is cut short, and a header that is too long, are unknown errors, told by their
//   texts. An answer that is not HTTP is reported as an unsupported URL.
// - A connection that ends in the middle of the header fields ends the process ("Transfer
//   completed, but there's no response", swift-corelibs-foundation#5285), whatever made the
//   request. It cannot be prevented from outside: libcurl reports no error, and Foundation calls no
//   code before it looks for the response, which only its own parser of header fields, or a task
//   before it, could have set. That is why libcurl is used.
// - Of an answer with a status from 301 to 308 the delegate is told nothing but the end, and the
//   body is lost, unless it is a redirect that is declined.
// - `URLSession.data(for:)` can deadlock when it is cancelled (swift-corelibs-foundation#5412). It
//   is not used here.

/// A task of a session, which reports to an exchange.
final class SessionTask: HTTPHop {
  private enum Phase {
    case open
    /// The session is being told not to follow a redirect.
    case answering(isCancelled: Bool)
    case cancelled
  }

  let exchange: any HTTPHopOwner
  #if canImport(FoundationNetworking)
  let body: StreamedBody?
  private let idleTimer: IdleTimer?
  #endif
  private let task: URLSessionTask
  private let phase = LockBox(Phase.open)
  /// The queue for the body, if it goes to a file. The delegate queue is the program's, or the main
  /// one, and need not be serial.
  private let disk = LockBox<DiskQueue?>(nil)
  #if !canImport(FoundationNetworking)
  private let isSuspended = LockBox(false)
  #endif

  // Both make a task that has not been resumed.

  #if canImport(FoundationNetworking)
  init(
    _ request: URLRequest, uploading upload: HTTPUpload?, idleTimer: IdleTimer?, in session: URLSession,
    relay: SessionRelay, for exchange: any HTTPHopOwner
  ) {
    self.exchange = exchange
    self.idleTimer = idleTimer
    body = StreamedBody(of: request, uploading: upload)
    task = session.dataTask(with: body?.request(from: request.withoutTimeout) ?? request.withoutTimeout)
    relay.tell(self, about: task)
  }
  #else
  init(
    _ request: URLRequest, uploading upload: HTTPUpload?, in session: URLSession, for exchange: any HTTPHopOwner
  ) {
    self.exchange = exchange
    switch upload {
    case nil: task = session.dataTask(with: request)
    case .data(let data): task = session.uploadTask(with: request, from: data)
    case .file(let file): task = session.uploadTask(with: request, fromFile: file)
    }
    task.delegate = TaskRelay(self)
  }
  #endif

  func resume() {
    #if canImport(FoundationNetworking)
    idleTimer?.start { [weak self] in
      if let self, let idleTimer { exchange.idled(for: idleTimer.limit, self) }
    }
    #endif
    task.resume()
  }

  /// Ends the task, later: this may be a call of the session.
  func cancel() {
    QualityOfService.default.promptQueue.async { self.cancelNow() }
  }

  private func cancelNow() {
    let isNow = phase.withLock { phase in
      switch phase {
      case .open:
        phase = .cancelled
        return true
      case .answering:
        phase = .answering(isCancelled: true)
        return false
      case .cancelled:
        return false
      }
    }
    if isNow { task.cancel() }
  }

  /// Tells the session not to follow a redirect, but never during or after a cancel.
  func declineRedirect(_ answer: () -> Void) {
    let isOpen = phase.withLock { phase in
      guard case .open = phase else { return false }
      phase = .answering(isCancelled: false)
      return true
    }
    guard isOpen else { return }
    answer()
    let isCancelled = phase.withLock { phase in
      guard case .answering(isCancelled: true) = phase else {
        phase = .open
        return false
      }
      phase = .cancelled
      return true
    }
    if isCancelled { task.cancel() }
  }

  // MARK: - Calls of the session

  func responded(_ response: URLResponse) {
    noteActivity()
    guard let response = response as? HTTPURLResponse else { return }
    let disk = exchange.responded(.init(response), from: self)
    self.disk.withLock { $0 = disk }
  }

  func received(_ data: Data) {
    noteActivity()
    guard let disk = disk.withLock({ $0 }) else { return pass(data) }
    #if canImport(FoundationNetworking)
    // Suspending a task is not safe here. Only the requests of this session wait.
    disk.addAndWait { pass(data) }
    #else
    disk.add(data.count) { self.pass(data) }
    if !disk.hasRoom { suspend(until: disk) }
    #endif
  }

  #if !canImport(FoundationNetworking)
  /// Makes the server wait, too, until there is room again.
  private func suspend(until disk: DiskQueue) {
    // Data that has come already is still delivered. The session counts how often a task was
    // suspended.
    let isFirst = isSuspended.withLock { isSuspended in
      defer { isSuspended = true }
      return !isSuspended
    }
    guard isFirst else { return }
    task.suspend()
    let goOn: @Sendable () -> Void = {
      self.isSuspended.withLock { $0 = false }
      self.task.resume()
    }
    // There may be room by now.
    if disk.hasRoom(otherwise: goOn) { goOn() }
  }
  #endif

  private func pass(_ data: Data) {
    if !exchange.received(data, from: self) { exchange.stop(self) }
  }

  func sent(_ count: Int64, of total: Int64) {
    noteActivity()
    exchange.sent(Int(clamping: count), of: Int(clamping: total), by: self)
  }

  func completed(_ error: (any Error)?, endsChallenge: Bool = false) {
    #if canImport(FoundationNetworking)
    idleTimer?.stop()
    #endif
    let end: HTTPHopEnd =
      switch error {
      case nil: .completed
      case let error? where (error as? URLError)?.code == .cancelled: .cancelled
      case let error?: .threw(error)
      }
    guard let disk = disk.withLock({ $0 }) else { return exchange.ended(end, by: self, endsChallenge: endsChallenge) }
    // After all that came is written.
    disk.add { self.exchange.ended(end, by: self, endsChallenge: endsChallenge) }
  }

  private func noteActivity() {
    #if canImport(FoundationNetworking)
    idleTimer?.restart()
    #endif
  }
}

extension HTTPExchangeState.Answer {
  init(_ response: HTTPURLResponse) {
    var headers: HTTPHeaders = [:]
    for case (let name as String, let value as String) in response.allHeaderFields { headers[name] = value }
    // The length of a packed body says nothing about the unpacked length.
    var length = headers["Content-Encoding"] == nil ? response.expectedContentLength : -1
    #if canImport(FoundationNetworking)
    if (301...308).contains(response.statusCode) { length = -1 }
    #endif
    self.init(
      url: response.url, status: response.statusCode, headers: headers,
      length: length >= 0 ? Int(clamping: length) : nil)
  }
}
