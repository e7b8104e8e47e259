public import CompositeOperations

/// The request that code works for: task-local values, the first of them nil outside of requests,
/// the second with a default.
public enum Request {
  /// The number of the request.
  @TaskLocal public static var id: Int?
  /// Who the request is for.
  @TaskLocal public static var tenant = "none"

  /// Registers both, and more often than needed.
  public static let registration: Void = {
    OperationContext.propagate($id)
    OperationContext.propagate($tenant)
    OperationContext.propagate($id)
  }()

  /// Runs code of a request.
  public static func with<R>(_ id: Int, _ body: () throws -> R) rethrows -> R {
    _ = registration
    return try $id.withValue(id) { try $tenant.withValue("tenant \(id)", operation: body) }
  }

  /// Runs async code of a request.
  public static func with<R>(_ id: Int, _ body: () async throws -> R) async rethrows -> R {
    _ = registration
    return try await $id.withValue(id) { try await $tenant.withValue("tenant \(id)", operation: body) }
  }

  /// Runs code of a request in another task, and waits for it.
  @discardableResult
  public static func elsewhere<R: Sendable>(_ id: Int, _ body: @escaping @Sendable () -> R) async -> R {
    await Task.detached { with(id, body) }.value
  }

  /// The request that the calling code sees.
  public static var current: String { "\(id.map { "\($0)" } ?? "-") \(tenant)" }

  /// What code sees that works for no request.
  public static let nothing = "- none"
}

/// Records which requests code sees, by the place of the code.
public final class SeenRequests: Sendable {
  private let all = Locked<[(place: String, request: String)]>([])

  /// Makes a recorder that has seen nothing.
  public init() {}

  /// Records what the calling code sees.
  public func note(_ place: String) {
    let request = Request.current
    all.withLock { $0.append((place, request)) }
  }

  /// The places that code has noted.
  public var places: Set<String> { Set(all.current.map(\.place)) }

  /// The places that saw another request than this, or none.
  public func others(than request: Int) -> [String] { others(than: "\(request) tenant \(request)") }

  /// The places that saw a request.
  public var some: [String] { others(than: Request.nothing) }

  private func others(than request: String) -> [String] {
    all.current.filter { $0.request != request }.map { "\($0.place) saw \($0.request)" }
  }
}

/// A sink that notes what it sees.
public struct NotingSink: TelemetrySink {
  private let seen: SeenRequests

  /// Makes a sink that notes what it sees as `sink`.
  public init(seen: SeenRequests) { self.seen = seen }

  /// Notes what the calling code sees.
  public func receive(_ event: TelemetryEvent) { seen.note("sink") }
}

/// A sink that calls a closure.
public struct ClosureSink: TelemetrySink {
  private let body: @Sendable (TelemetryEvent) -> Void

  /// Makes a sink that calls `body` with each event.
  public init(_ body: @escaping @Sendable (TelemetryEvent) -> Void) { self.body = body }

  /// Calls the closure.
  public func receive(_ event: TelemetryEvent) { body(event) }
}
