import CompositeOperations
import ExampleSupport
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Finds out whether web links are good, by asking their servers, each of which gets so many
/// requests at a time.
struct WebLinkChecker<Time: Clock<Duration>>: Sendable {
  private let timeout: Duration
  private let policy: RetryPolicy
  private let clock: Time
  private let session: URLSession
  /// Where the requests to one server meet.
  private let registry: ExclusionRegistry

  init(_ options: Options, clock: Time = ContinuousClock()) {
    self.clock = clock
    timeout = options.timeout
    session = .forLinks(perHost: options.perHost)
    registry = ExclusionRegistry(defaultLimit: options.perHost)
    policy = RetryPolicy(
      maxAttempts: options.retries + 1, backoff: .exponential(from: options.retryDelay),
      maxDelay: max(.seconds(30), options.retryDelay), jitter: .none
    ) { error, _ in
      guard let fault = PassingFault(of: error) else { return .stop }
      return fault.retryAfter.map { .retryAfter($0) } ?? .retry
    }
  }

  /// Makes the operation that checks one link.
  ///
  /// - Parameter onPause: Told how long and why a request is put off.
  func check(
    _ url: URL, onPause: @escaping @Sendable (Duration, String) -> Void = { _, _ in }
  ) -> SimpleOperation<Verdict> {
    let inquiry = Shared(LinkInquiry(url))
    var policy = policy
    policy.willRetry = { error, _, pause in
      if let fault = PassingFault(of: error) { onPause(pause, fault.reason) }
    }
    return retrying(policy, clock: clock) { [self] _ in
      CompositeOperation(sequence: LinkSequence(inquiry, timeout: timeout, makeRequest: request))
        .map { $0.last as! Verdict }
    }
    .recover { error in
      guard let fault = (error as? RetryError).flatMap({ PassingFault(of: $0.lastError) }) else { throw error }
      return SimpleOperation { $0.finish(with: fault.verdict) }
    }
  }

  /// The time counts from when it is the request's turn.
  @Sendable private func request(_ method: Request.Method, _ url: URL) -> SimpleOperation<Reply> {
    Request.operation(method, url, timeout: timeout, session: session)
      .timeout(timeout, clock: clock)
      .exclusive(ExclusionCategory(url.server), in: registry)
  }
}

extension PassingFault {
  /// The fault that an attempt failed with, if it was one.
  fileprivate init?(of error: any Error) {
    guard let fault = (error as? CompositeError)?.failures.last?.error as? PassingFault else { return nil }
    self = fault
  }
}
