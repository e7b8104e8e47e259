public import CompositeOperations

/// Writes events on standard error, one line each: as text, or as JSON for programs that collect
/// logs.
///
/// ```swift
/// queue.report(to: StandardErrorSink(level: .warning, json: true))
/// ```
///
/// A line of text begins with the time, and goes on as the description of `TelemetryEvent` does.
/// A line of JSON is an object with the members `time`, `level`, `library`, `event` and `subject`,
/// and, where they are known, `source`, `name`, `id`, `parent`, `attempt`, `duration` in seconds
/// and `error`. Nothing in a line moves a cursor or ends it early, whatever names and errors hold.
///
/// **When the other end is slow.** An event is written when `receive(_:)` returns, while the other
/// end takes what is written. If it does not, as a pipe that is full, no thread waits for it: up to
/// a mebibyte of lines is kept, and written as soon as there is room, which is looked for twenty
/// times a second. What comes beyond that is dropped; where it would stand, a line says how many
/// events were. If another thread is just writing, that one writes this line, too.
///
/// Lines are whole, and in the order in which they came. Only what is longer than the system writes
/// in one piece, 4,096 bytes on Linux and 512 on Apple platforms, may have in it what other code
/// writes on standard error at the same time.
public struct StandardErrorSink: TelemetrySink {
  private let level: TelemetryEvent.Level
  private let isJSON: Bool
  private let writer: LineWriter

  /// Makes a sink.
  ///
  /// - Parameters:
  ///   - level: the least important events to write. Others cost a comparison.
  ///   - json: whether lines are objects of JSON.
  public init(level: TelemetryEvent.Level = .info, json: Bool = false) {
    self.init(level: level, json: json, writer: .standardError)
  }

  init(level: TelemetryEvent.Level, json: Bool, writer: LineWriter) {
    self.level = level
    isJSON = json
    self.writer = writer
  }

  /// Writes an event, unless it is less important than those that are asked for.
  public func receive(_ event: TelemetryEvent) {
    guard event.level >= level else { return }
    writer.write(isJSON ? event.jsonLine : event.textLine)
  }
}
