#if canImport(Darwin)
public import CompositeOperations
import os

/// Writes events into Apple's unified log. Writes executions as signposted intervals, which
/// Instruments draws.
///
/// ```swift
/// manager.report(to: UnifiedLogSink(subsystem: "org.example.app"))
/// ```
///
/// The category is the library, such as `ManagedOperations`. Kinds, subjects, ids, attempts and
/// durations are public. Names and errors are private, because they may contain personal data. The
/// log shows them only if it is configured to do so. The levels of the log are `debug`, `info`,
/// `default` for warnings, and `error`.
///
/// Each event `TelemetryEvent.Kind.started` begins an interval in the instrument `os_signpost`, and
/// the event with a duration ends it. Intervals are made whether or not an instrument records,
/// unless signposts of the subsystem are switched off.
public final class UnifiedLogSink: TelemetrySink {
  private struct Category {
    let logger: Logger
    let signposter: OSSignposter
  }

  private struct Thing: Hashable {
    let library: String
    let source: String?
    let id: Int64?

    init(_ event: TelemetryEvent) {
      library = event.library
      source = event.source
      id = event.id
    }
  }

  private struct State {
    var categories: [String: Category] = [:]
    /// Several if jobs of two queues have the same name and number.
    var intervals: [Thing: [OSSignpostIntervalState]] = [:]
  }

  private let subsystem: String
  private let level: TelemetryEvent.Level
  private let state = LockBox(State())

  /// Makes a sink.
  ///
  /// - Parameters:
  ///   - subsystem: the name of the program in the log, usually its bundle identifier.
  ///   - level: the lowest level of the events to log. Intervals are made for all executions.
  public init(subsystem: String, level: TelemetryEvent.Level = .debug) {
    self.subsystem = subsystem
    self.level = level
  }

  /// Logs an event, and begins or ends an interval.
  public func receive(_ event: TelemetryEvent) {
    let category = category(of: event.library)
    if event.kind == .started, category.signposter.isEnabled { begin(event, category.signposter) }
    if event.duration != nil { end(event, category.signposter) }
    guard event.level >= level else { return }
    category.logger.log(
      level: event.level.logType,
      "\(event.publicText, privacy: .public)\(event.privateText, privacy: .private)")
  }

  private func category(of library: String) -> Category {
    state.withLock { state in
      if let category = state.categories[library] { return category }
      let made = Category(
        logger: Logger(subsystem: subsystem, category: library),
        signposter: OSSignposter(subsystem: subsystem, category: library))
      state.categories[library] = made
      return made
    }
  }

  private func begin(_ event: TelemetryEvent, _ signposter: OSSignposter) {
    let interval = signposter.beginInterval(
      "execution", id: signposter.makeSignpostID(), "\(event.publicText, privacy: .public)")
    state.withLock { $0.intervals[Thing(event), default: []].append(interval) }
  }

  private func end(_ event: TelemetryEvent, _ signposter: OSSignposter) {
    let interval = state.withLock { state in
      let interval = state.intervals[Thing(event)]?.popLast()
      if state.intervals[Thing(event)]?.isEmpty == true { state.intervals[Thing(event)] = nil }
      return interval
    }
    if let interval { signposter.endInterval("execution", interval, "\(event.publicText, privacy: .public)") }
  }
}

extension TelemetryEvent {
  /// The public part of the message.
  fileprivate var publicText: String {
    var event = self
    event.name = nil
    event.error = nil
    return event.description
  }

  fileprivate var privateText: String {
    let name = name.map { " “\($0)”" } ?? ""
    let error = error.map { ": \(OperationError.describe($0))" } ?? ""
    return name + error
  }
}

extension TelemetryEvent.Level {
  fileprivate var logType: OSLogType {
    switch self {
    case .debug: .debug
    case .info: .info
    case .warning: .default
    case .error: .error
    }
  }
}
#endif
