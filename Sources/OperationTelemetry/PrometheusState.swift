import CompositeOperations

/// What a ``PrometheusSink`` has counted.
struct PrometheusState {
  /// What is counted together.
  struct Subject: Hashable, Comparable {
    let library: String
    var name: String

    static func < (left: Self, right: Self) -> Bool { (left.library, left.name) < (right.library, right.name) }
  }

  struct Series: Hashable, Comparable {
    let subject: Subject
    let event: String

    static func < (left: Self, right: Self) -> Bool {
      left.subject == right.subject ? left.event < right.event : left.subject < right.subject
    }
  }

  struct Histogram {
    /// How many durations are in each bucket, and in none before it; the last is for those above all bounds.
    var counts: [Int]
    /// In seconds.
    var sum = 0.0
  }

  static let defaultBuckets: [Duration] =
    [5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 300_000, 1_800_000].map {
      .milliseconds($0)
    }

  /// The upper bounds, in seconds.
  let buckets: [Double]
  let maxSubjectCount: Int
  private(set) var subjects: Set<Subject> = []
  private(set) var events: [Series: Int] = [:]
  private(set) var durations: [Series: Histogram] = [:]
  private(set) var executing: [Subject: Int] = [:]

  init(buckets: [Double], maxSubjectCount: Int) {
    self.buckets = buckets
    self.maxSubjectCount = maxSubjectCount
  }

  mutating func count(_ event: TelemetryEvent) {
    let subject = counted(Subject(library: event.library, name: event.subject))
    let series = Series(subject: subject, event: event.kind.rawValue)
    events[series, default: 0] += 1
    if event.kind == .started { executing[subject, default: 0] += 1 }
    guard let duration = event.duration else { return }
    executing[subject, default: 0] -= 1
    let seconds = duration / .seconds(1)
    let bucket = buckets.firstIndex { seconds <= $0 } ?? buckets.count
    durations[series, default: Histogram(counts: Array(repeating: 0, count: buckets.count + 1))].counts[bucket] += 1
    durations[series]?.sum += seconds
  }

  /// The subject itself, or, where there are too many, the one for all further ones of its library.
  private mutating func counted(_ subject: Subject) -> Subject {
    if subjects.contains(subject) { return subject }
    if subjects.count < maxSubjectCount {
      subjects.insert(subject)
      return subject
    }
    var other = subject
    other.name = "other"
    return other
  }
}

extension PrometheusState {
  private static let prefix = "composite_operations_"

  /// The numbers in the text format 0.0.4.
  var text: String {
    var text = ""
    writeHead("events_total", "counter", "Events that operations, workflows, managers and queues reported.", to: &text)
    for (series, count) in events.sorted(by: { $0.key < $1.key }) {
      write("events_total", labels(of: series), "\(count)", to: &text)
    }
    writeHead("duration_seconds", "histogram", "How long what has ended had executed.", to: &text)
    for (series, histogram) in durations.sorted(by: { $0.key < $1.key }) { write(histogram, of: series, to: &text) }
    writeHead("executing", "gauge", "What executes at this moment.", to: &text)
    for (subject, count) in executing.sorted(by: { $0.key < $1.key }) {
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

  /// Backslashes, quotation marks and line feeds are all that the format escapes.
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
