import CompositeOperations
import ExampleSupport
import Foundation
import HTTPOperations
import ManagedOperations

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A client for a weather server. Each request is an operation; the manager limits requests and
/// makes them again.
final class WeatherClient: Sendable {
  let server: URL

  private let session = URLSession(configuration: .forWeather)
  /// At first an old one, which no server accepts.
  private let token = Shared("outdated")
  private let manager: OperationManager
  private let log: RequestLog?

  /// - Parameters:
  ///   - server: the address that all paths begin with.
  ///   - rate: how many requests are made in a second on average, and as many at once, not counting
  ///     retries at a busy server and requests for tokens.
  ///   - log: logs all requests.
  init(server: URL, rate: Int, log: RequestLog?) {
    self.server = server
    self.log = log
    let refresh = TokenRefresh(server: server, session: session, token: token, log: log)
    manager = OperationManager(
      name: "weather",
      interceptors: [.rateLimit(tokens: rate, per: .seconds(1))],
      reactors: [
        // One refresh for all requests that were refused with the same token, while no other
        // starts.
        .reacting(
          to: WeatherRequest.self,
          configuration: ReactorConfiguration(suspendsQueue: true, reinterceptsOnRequeue: true, maxRequeues: 20),
          when: { outcome, _ in (outcome.error as? HTTPStatusError)?.status == 401 },
          { _ in
            try await refresh()
            return .requeue()
          }),
        .retrying(Self.retryPolicy),
      ])
    // So that no more requests are under way than a token is good for.
    manager.maxConcurrentOperationCount = 4
    log?.follow(manager)
  }

  /// Retries failures that may be temporary. The reactor keeps to `Retry-After`; a server that asks
  /// for more than some seconds is not asked again.
  private static var retryPolicy: RetryPolicy {
    RetryPolicy(maxAttempts: 8, backoff: .exponential(from: .milliseconds(200))) { error, _ in
      switch error {
      case let error as HTTPStatusError where [429, 502, 503, 504].contains(error.status):
        error.retryAfter ?? .zero > .seconds(10) ? .stop : .retry
      case let error as HTTPError where [.connectionLost, .truncatedBody].contains(error.code): .retry
      default: .stop
      }
    }
  }

  /// Asks for the places whose names begin like this.
  func search(_ name: String) -> SimpleOperation<HTTPResponse> {
    get("search", ["q": name], label: "search \(name)")
  }

  /// Asks for the weather of a place.
  func forecast(for place: Place, days: Int) -> SimpleOperation<HTTPResponse> {
    get(
      "forecast", ["latitude": "\(place.latitude)", "longitude": "\(place.longitude)", "days": "\(days)"],
      label: "forecast \(place.name)")
  }

  /// Waits until all that happened has been logged.
  func finish() async {
    await log?.finish()
  }

  private func get(
    _ path: String, _ query: KeyValuePairs<String, String>, label: String
  ) -> SimpleOperation<HTTPResponse> {
    var address = URLComponents(url: server.appendingPathComponent(path), resolvingAgainstBaseURL: true)
    address?.queryItems = query.map { URLQueryItem(name: $0.key, value: $0.value) }
    // The operation that it becomes a part of starts it.
    let request = WeatherRequest(request: URLRequest(url: address?.url ?? server), session: session, token: token)
    let handle = manager.add(request, startImmediately: false)
    log?.name(handle.id, label)
    return handle
  }
}

extension URLSessionConfiguration {
  /// Remembers nothing.
  fileprivate static var forWeather: URLSessionConfiguration {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.httpCookieStorage = nil
    configuration.httpAdditionalHeaders = ["User-Agent": "Forecast/1.0", "Accept": "application/json"]
    return configuration
  }
}
