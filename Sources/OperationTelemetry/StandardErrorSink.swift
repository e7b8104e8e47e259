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
/// **When the reader is slow.** Usually the line is written when `receive(_:)` returns. If another
/// thread is writing, that thread writes this line, too. If a pipe is full, no thread waits for its
/// reader. Then up to a mebibyte of lines is kept, and written as soon as there is room; the sink
/// tries twenty times a second. Further lines are dropped. Where they would stand, a line reports
/// how many lines were dropped.
///
/// Lines are whole, and in the order of the events. But a long line may contain output that other
/// code writes to standard error at the same time. A line is long if it has more bytes than the
/// system writes in one piece: 4,096 on Linux and 512 on Apple platforms.
public struct StandardErrorSink: TelemetrySink {
  private let level: TelemetryEvent.Level
  private let isJSON: Bool
  private let writer: LineWriter

  /// Makes a sink.
  ///
  /// - Parameters:
  ///   - level: the lowest level of the events to write. For events of a lower level the sink only
  ///     compares levels.
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
