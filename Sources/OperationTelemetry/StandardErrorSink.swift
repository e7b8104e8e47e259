public import CompositeOperations

/// Writes events on standard error, one line each: as text, or as JSON for programs that collect
/// logs.
///
/// ```swift
/// queue.report(to: StandardErrorSink(level: .warning, json: true))
/// ```
///
/// A line of text is the time and the description of the `TelemetryEvent`. A line of JSON is an
/// object with the members `time`, `level`, `library`, `event` and `subject`, and, where they are
/// known, `source`, `name`, `id`, `parent`, `attempt`, `duration` in seconds and `error`. Control
/// characters in names and errors are replaced, so that they neither end a line nor move a cursor.
///
/// **When the reader is slow.** Usually the line is written when `receive(_:)` returns; if another
/// thread is writing, that thread writes this line, too. If a pipe is full, no thread waits for its
/// reader. Then up to a mebibyte of lines is kept, and written as soon as there is room; the sink
/// tries twenty times a second. Further lines are dropped, and in their place a line reports how
/// many.
///
/// Lines are whole, and in the order of the events. But in a line that is longer than the system
/// writes in one piece, 4,096 bytes on Linux and 512 on Apple platforms, there may be output that
/// other code writes to standard error at the same time.
public struct StandardErrorSink: TelemetrySink {
  private let level: TelemetryEvent.Level
  private let isJSON: Bool
  private let writer: LineWriter

  /// Makes a sink.
  ///
  /// - Parameters:
  ///   - level: the lowest level of the events to write. For other events the sink only compares
  ///     levels.
  ///   - json: whether lines are objects of JSON.
  public init(level: TelemetryEvent.Level = .info, json: Bool = false) {
    self.init(level: level, json: json, writer: .standardError)
  }

  init(level: TelemetryEvent.Level, json: Bool, writer: LineWriter) {
    self.level = level
    isJSON = json
    self.writer = writer
  }

  /// Writes an event, unless its level is too low.
  public func receive(_ event: TelemetryEvent) {
    guard event.level >= level else { return }
    writer.write(isJSON ? event.jsonLine : event.textLine)
  }
}
