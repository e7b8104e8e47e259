import CompositeOperations
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The sequence of operations that checks one web link: requests, with pauses in between where they are retried, and
/// at the end an operation that has the verdict as its value.
///
/// A link that turns out broken is no failure of the sequence: the check succeeded.
struct LinkSequence: CompositeOperation.Sequence, Sendable {
  private var inquiry: LinkInquiry
  private let timeout: Duration
  private let session: URLSession
  private let onPause: @Sendable (Duration, String) -> Void
  private var step: LinkInquiry.Step?

  /// - Parameter onPause: Told how long and why a request is put off.
  init(
    _ inquiry: LinkInquiry, timeout: Duration, session: URLSession,
    onPause: @escaping @Sendable (Duration, String) -> Void = { _, _ in }
  ) {
    self.inquiry = inquiry
    self.timeout = timeout
    self.session = session
    self.onPause = onPause
  }

  mutating func nextOperation(after previous: Operation?) throws -> Operation? {
    step = try nextStep(after: previous)
    switch step {
    case .request(let method, let url): return Request(method, url, timeout: timeout, session: session)
    case .pause(let duration, let reason):
      onPause(duration, reason)
      return pause(duration)
    case .conclude(let verdict): return SimpleOperation<Verdict> { $0.finish(with: verdict) }
    case nil: return nil
    }
  }

  private mutating func nextStep(after previous: Operation?) throws -> LinkInquiry.Step? {
    switch step {
    case nil, .pause: return inquiry.request
    case .conclude: return nil
    case .request:
      if let reply = previous?.result(as: Reply.self) { return inquiry.next(after: reply) }
      guard let error = previous?.failure else { return nil }
      guard let error = error as? TransportError else { throw error }
      return inquiry.next(after: error)
    }
  }
}
