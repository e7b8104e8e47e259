import CompositeOperations
import ExampleSupport
import Foundation

/// One attempt to find out whether a web link is good: as many requests as redirects and refusals
/// make necessary, and at the end an operation that has the verdict as its value.
///
/// A link that turns out broken is no failure of the sequence: the check succeeded. It fails with a
/// ``PassingFault`` if it is worth another attempt, which goes on where this one was.
struct LinkSequence: CompositeOperation.Sequence, Sendable {
  private let inquiry: Shared<LinkInquiry>
  private let timeout: Duration
  private let makeRequest: @Sendable (Request.Method, URL) -> SimpleOperation<Reply>
  private var isConcluded = false

  /// - Parameters:
  ///   - inquiry: what all attempts for the link share.
  ///   - timeout: how long a request may take, to say so if it takes longer.
  ///   - makeRequest: makes the operation that asks.
  init(
    _ inquiry: Shared<LinkInquiry>, timeout: Duration,
    makeRequest: @escaping @Sendable (Request.Method, URL) -> SimpleOperation<Reply>
  ) {
    self.inquiry = inquiry
    self.timeout = timeout
    self.makeRequest = makeRequest
  }

  mutating func nextOperation(after previous: Operation?) throws -> Operation? {
    guard !isConcluded else { return nil }
    switch try nextStep(after: previous) {
    case .request(let method, let url): return makeRequest(method, url)
    case .fail(let fault): throw fault
    case .conclude(let verdict):
      isConcluded = true
      return SimpleOperation<Verdict> { $0.finish(with: verdict) }
    case nil: return nil
    }
  }

  private func nextStep(after previous: Operation?) throws -> LinkInquiry.Step? {
    guard let previous else { return inquiry.withLock { $0.request } }
    if let reply = previous.result(as: Reply.self) { return inquiry.withLock { $0.next(after: reply) } }
    switch previous.failure {
    case let error as TransportError: return inquiry.withLock { $0.next(after: error) }
    case is OperationTimeout: return inquiry.withLock { $0.next(after: .timedOut(after: timeout)) }
    case let error?: throw error
    case nil: return nil
    }
  }
}
