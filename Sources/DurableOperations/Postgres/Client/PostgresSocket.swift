#if os(macOS) || os(Linux)
import Foundation

/// Waits for the server without a thread. While it does, only its queue uses the connection.
///
/// The sources are made once, and suspended between two pipelines, when a thread that waits by
/// itself may use the connection.
final class PostgresSocket: @unchecked Sendable {  // everything is used on the queue alone
  typealias Completion = @Sendable (Result<[PostgresResult], PostgresError>) -> Void

  /// A pipeline with its completion.
  private struct Work {
    var exchange: PostgresExchange
    let connection: PostgresConnection
    let rollsBack: Bool
    let deadline: PostgresDeadline
    let completion: Completion
  }

  let queue = DispatchQueue(label: "DurableOperations.postgres", qos: .userInitiated)
  private let descriptor: Int32
  private var reader: SwitchedSource?
  private var writer: SwitchedSource?
  private var work: Work?
  private var waiting: [() -> Void] = []
  private var timerEnd: ContinuousClock.Instant?
  private var isClosed = false
  /// Called when unrequested data arrives, or after an answer; returns false when the connection is
  /// over.
  private var hear: (() -> Bool)?

  init(_ connection: PostgresConnection) {
    descriptor = connection.descriptor
  }

  /// Sends a pipeline. `completion` is called on the queue, with the results of the statements.
  ///
  /// - Parameter connection: the connection of this socket, which is kept until then.
  func run(
    _ pipeline: PostgresPipeline, on connection: PostgresConnection, timeout: Duration,
    completion: @escaping Completion
  ) {
    let deadline = PostgresDeadline(after: timeout)
    queue.async { [self] in
      begin(
        Work(
          exchange: PostgresExchange(pipeline, on: connection), connection: connection,
          rollsBack: pipeline.boundary.rollsBack, deadline: deadline, completion: completion))
    }
  }

  /// Watches for unrequested data.
  ///
  /// - Parameter hear: called at once, and whenever data arrives; returns false when the connection
  ///   is over, and is not called again then.
  func listen(_ hear: @escaping @Sendable () -> Bool) {
    queue.async { [self] in
      self.hear = hear
      if !isClosed { listenOn(again: hear()) }
    }
  }

  /// Stops watching, and fails what is under way or waits. `end` is called when the system no
  /// longer watches, so that the descriptor can be closed.
  func close(then end: @escaping @Sendable () -> Void) {
    queue.async { [self] in
      isClosed = true
      hear = nil
      let sources = [reader, writer].compactMap(\.self)
      (reader, writer) = (nil, nil)
      let group = DispatchGroup()
      for source in sources {
        group.enter()
        source.cancel { group.leave() }
      }
      group.notify(queue: queue, execute: end)
      if var work = work.take() {
        work.exchange.close()
        if let end = work.exchange.end { work.completion(end) }
      }
      let rest = waiting
      waiting = []
      for begin in rest { begin() }
    }
  }

  // MARK: - On the queue

  private func begin(_ work: Work) {
    if isClosed {
      return work.completion(.failure(PostgresError(.connectionLost, message: "the connection was closed")))
    }
    // The listener sends while it may still wait for the previous answer.
    if self.work != nil { return waiting.append { self.begin(work) } }
    self.work = work
    setTimer(work.deadline)
    goOn(isReadable: false)
  }

  private func goOn(isReadable: Bool) {
    while let wait = work?.exchange.advance(isReadable: isReadable) {
      // The end of a connection is reported once, so everything before it is read first.
      if isReadable, PostgresDeadline.isReadable(descriptor) { continue }
      readerOn()
      if wait.writes { writerOn() } else { writer?.off() }
      return
    }
    finish()
  }

  private func finish() {
    writer?.off()
    guard let work, let end = work.exchange.end else { return }
    self.work = nil
    let connection = work.connection
    if case .failure = end, work.rollsBack, !connection.isBroken, connection.transactionState != .idle {
      let rollback = PostgresPipeline(.inside, .rollback)
      return begin(
        Work(
          exchange: PostgresExchange(rollback, on: connection), connection: connection, rollsBack: false,
          deadline: work.deadline,
          completion: { result in
            if case .failure = result { connection.markBroken() }
            work.completion(end)
          }))
    }
    if hear == nil || connection.isBroken { reader?.off() }
    // The completion may hand the connection to another thread.
    work.completion(end)
    if !waiting.isEmpty { waiting.removeFirst()() }
    if self.work == nil, let hear { listenOn(again: hear()) }
  }

  private func listenOn(again: Bool) {
    guard again else {
      hear = nil
      reader?.off()
      return
    }
    readerOn()
  }

  private func readable() {
    if work != nil { return goOn(isReadable: true) }
    guard let hear else { return }
    listenOn(again: hear())
  }

  // MARK: - Waiting

  private func readerOn() {
    if reader == nil {
      let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
      source.setEventHandler { [weak self] in self?.readable() }
      reader = SwitchedSource(source)
    }
    reader?.on()
  }

  private func writerOn() {
    if writer == nil {
      let source = DispatchSource.makeWriteSource(fileDescriptor: descriptor, queue: queue)
      source.setEventHandler { [weak self] in
        guard let self, work != nil else { return }
        goOn(isReadable: false)
      }
      writer = SwitchedSource(source)
    }
    writer?.on()
  }

  /// One timer for many pipelines: nearly all are over long before it fires.
  private func setTimer(_ deadline: PostgresDeadline) {
    if let timerEnd, timerEnd <= deadline.end { return }
    let end = deadline.end
    timerEnd = end
    queue.asyncAfter(deadline: .now() + .milliseconds(Int(deadline.milliseconds))) { [weak self] in
      guard let self, timerEnd == end else { return }
      timerEnd = nil
      guard let deadline = work?.deadline else { return }
      guard deadline.hasPassed else { return setTimer(deadline) }
      work?.exchange.giveUp(after: deadline.duration)
      finish()
    }
  }
}

/// A source that is on or off. Used on one queue.
private final class SwitchedSource {
  private let source: any DispatchSourceProtocol
  private var isOn = false
  private var hasBegun = false

  init(_ source: any DispatchSourceProtocol) {
    self.source = source
  }

  func on() {
    if isOn { return }
    isOn = true
    if hasBegun { source.resume() } else { source.activate() }
    hasBegun = true
  }

  func off() {
    guard isOn else { return }
    isOn = false
    source.suspend()
  }

  func cancel(_ end: @escaping @Sendable () -> Void) {
    source.setCancelHandler(handler: end)
    // A suspended source is never cancelled, and must not be released.
    on()
    source.cancel()
  }
}
#endif
