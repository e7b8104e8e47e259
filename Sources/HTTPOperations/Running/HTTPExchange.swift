import CompositeOperations
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A request under way: one task of the session after the other, as long as there are redirects.
///
/// The session calls it from its delegate queue, one call after the other. Only cancels, timeouts and
/// the news that somebody else has settled the operation come from elsewhere.
final class HTTPExchange: SettlementObserver, @unchecked Sendable {  // locked, but for the session's calls
  private struct Running {
    var state: HTTPExchangeState
    var task: SessionTask?
    /// Held while it runs: whoever can settle an operation keeps it alive.
    var operation: HTTPOperation?
  }

  private let running: LockBox<Running>
  private let session: URLSession
  // Touched by the session's calls.
  private var file: PartialFile?

  init(_ state: HTTPExchangeState, session: URLSession) {
    running = LockBox(Running(state: state))
    self.session = session
  }

  func start(for operation: HTTPOperation) {
    let fields = session.fieldsOfEveryRequest
    let state = running.withLock { running in
      running.operation = operation
      running.state.add(fields)
      return running.state
    }
    guard operation.observe(self) else { return settle(with: .cancelled) }
    if let error = HTTPRequestCheck.mistake(in: state) {
      settle(with: .failure(error))
    } else {
      hop()
    }
  }

  func cancel() {
    let task = running.withLock { running in
      running.state.cancel()
      return running.task
    }
    task?.cancel()
  }

  /// Somebody else may have settled it; then nobody needs the answer.
  func operationDidSettle(_ operation: Operation, tag: Int) {
    cancel()
  }

  /// Makes the request of the next hop.
  private func hop() {
    let state = running.withLock { $0.state }
    let task = SessionTask(state.request, uploading: state.upload, in: session, for: self)
    let isCancelled = running.withLock { running in
      running.task = task
      return running.state.isCancelled
    }
    task.resume()
    // The cancel may have come while there was no task yet.
    if isCancelled { task.cancel() }
  }

  /// The task has neither sent nor received anything for too long.
  func timedOut(_ task: SessionTask) {
    let isCurrent = running.withLock { running in
      guard running.task === task else { return false }
      running.state.timedOut()
      return true
    }
    if isCurrent { task.cancel() }
  }

  // MARK: - Calls of the session

  func responded(_ answer: HTTPExchangeState.Answer) {
    file?.discard()
    file = nil
    guard case .file(let destination) = running.withLock({ $0.state.responded(answer) }) else { return }
    writing(to: destination) { file = try PartialFile(for: destination) }
  }

  func received(_ data: Data) {
    let (progress, operation) = running.withLock { ($0.state.received(data), $0.operation) }
    if let file { writing(to: file.destination) { try file.write(data) } }
    if let progress { operation?.reportProgress(completed: progress.count, of: progress.total) }
  }

  func sent(_ count: Int64, of total: Int64) {
    let operation = running.withLock { $0.state.upload == nil ? nil : $0.operation }
    operation?.reportProgress(completed: Int(count), of: Int(total))
  }

  func completed(_ error: (any Error)?, endsChallenge: Bool) {
    let completion = running.withLock { running in
      running.task = nil
      return running.state.completed(error, endsChallenge: endsChallenge)
    }
    switch completion {
    case .follow:
      hop()
    case .succeed(let response):
      do {
        try file?.finish()
        settle(with: .success(response))
      } catch {
        file?.discard()
        settle(with: .failure(HTTPError(.unwritableFile, url: response.file, underlying: error)))
      }
    case .fail(let error):
      file?.discard()
      settle(with: .failure(error))
    case .cancel:
      file?.discard()
      settle(with: .cancelled)
    }
  }

  // MARK: - The end

  /// Does what may fail because of a file, in which case nothing else of the answer matters.
  private func writing(to destination: URL, _ write: () throws -> Void) {
    do {
      try write()
    } catch {
      file?.discard()
      file = nil
      let task = running.withLock { running in
        running.state.fail(HTTPError(.unwritableFile, url: destination, underlying: error))
        return running.task
      }
      task?.cancel()
    }
  }

  private func settle(with outcome: Outcome<HTTPResponse>) {
    guard let operation = running.withLock({ $0.operation.take() }) else { return }
    // Not here: completions, and whatever goes on with the outcome, would keep the other requests of the session waiting.
    DispatchQueue.global().async { operation.end(with: outcome) }
  }
}
