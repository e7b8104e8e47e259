import CompositeOperations
import TestSupport

/// Keeps what it receives, also as lines such as `retrying upload (attempt 1, timed): TestError`.
struct RecordingSink: TelemetrySink {
  let lines = EventRecorder<String>()
  private let received = Locked<[TelemetryEvent]>([])

  var events: [TelemetryEvent] { received.current }

  func receive(_ event: TelemetryEvent) {
    received.withLock { $0.append(event) }
    lines.record(Self.line(event))
  }

  private static func line(_ event: TelemetryEvent) -> String {
    var details: [String] = []
    if let attempt = event.attempt { details.append("attempt \(attempt)") }
    if event.duration != nil { details.append("timed") }
    let suffix = details.isEmpty ? "" : " (\(details.joined(separator: ", ")))"
    let error = event.error.map { ": \(type(of: $0))" } ?? ""
    return "\(event.level) \(event.kind.rawValue) \(event.name ?? event.subject)\(suffix)\(error)"
  }
}

extension TelemetryEvent {
  /// Each start has at most one end with a duration, before the next start of the same thing, and
  /// nothing else has one.
  static func executionsAreSound(_ events: [TelemetryEvent]) -> Bool {
    var open: Set<String> = []
    for event in events {
      let key = "\(event.library) \(event.source ?? "") \(event.id ?? -1)"
      if event.kind == .started, !open.insert(key).inserted { return false }
      if event.duration != nil, open.remove(key) == nil { return false }
    }
    return true
  }
}
