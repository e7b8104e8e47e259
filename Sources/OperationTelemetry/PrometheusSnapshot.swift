/// The numbers of a ``PrometheusSink`` at one moment.
struct PrometheusSnapshot {
  typealias Subject = PrometheusState.Subject
  typealias Series = PrometheusState.Series
  typealias Histogram = PrometheusState.Histogram

  let buckets: [Double]
  let events: [(Series, Int)]
  let durations: [(Series, Histogram)]
  let executing: [(Subject, Int)]

  private static let prefix = "composite_operations_"

  /// The numbers in the text format 0.0.4.
  var text: String {
    var text = ""
    writeHead("events_total", "counter", "Events that operations, workflows, managers and queues reported.", to: &text)
    for (series, count) in events.sorted(by: { $0.0 < $1.0 }) {
      write("events_total", labels(of: series), "\(count)", to: &text)
    }
    writeHead("duration_seconds", "histogram", "How long executions took, in seconds.", to: &text)
    for (series, histogram) in durations.sorted(by: { $0.0 < $1.0 }) { write(histogram, of: series, to: &text) }
    writeHead("executing", "gauge", "How many executions run at this moment.", to: &text)
    for (subject, count) in executing.sorted(by: { $0.0 < $1.0 }) {
      write("executing", labels(of: subject), "\(count)", to: &text)
    }
    return text
  }

  private func write(_ histogram: Histogram, of series: Series, to text: inout String) {
    let labels = labels(of: series)
    var count = 0
    for (bound, inBucket) in zip(buckets.map(Self.text) + ["+Inf"], histogram.counts) {
      count += inBucket
      write("duration_seconds_bucket", labels + [("le", bound)], "\(count)", to: &text)
    }
    write("duration_seconds_sum", labels, Self.text(histogram.sum), to: &text)
    write("duration_seconds_count", labels, "\(count)", to: &text)
  }

  private func writeHead(_ name: String, _ type: String, _ help: String, to text: inout String) {
    text += "# HELP \(Self.prefix)\(name) \(help)\n# TYPE \(Self.prefix)\(name) \(type)\n"
  }

  private func write(_ name: String, _ labels: [(String, String)], _ value: String, to text: inout String) {
    let list = labels.map { "\($0)=\"\(Self.escaped($1))\"" }.joined(separator: ",")
    text += "\(Self.prefix)\(name){\(list)} \(value)\n"
  }

  private func labels(of subject: Subject) -> [(String, String)] {
    [("library", subject.library), ("subject", subject.name)]
  }

  private func labels(of series: Series) -> [(String, String)] {
    labels(of: series.subject) + [("event", series.event)]
  }

  /// Escapes backslashes, quotation marks and line feeds, as the format demands.
  private static func escaped(_ value: String) -> String {
    var result = String.UnicodeScalarView()
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\\": result.append(contentsOf: #"\\"#.unicodeScalars)
      case "\"": result.append(contentsOf: #"\""#.unicodeScalars)
      case "\n": result.append(contentsOf: #"\n"#.unicodeScalars)
      default: result.append(scalar)
      }
    }
    return String(result)
  }

  private static func text(_ number: Double) -> String {
    let text = number.description
    return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
  }
}
