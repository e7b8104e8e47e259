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
  private var subjects: Set<Subject> = []
  private var events: [Series: Int] = [:]
  private var durations: [Series: Histogram] = [:]
  private var executing: [Subject: Int] = [:]

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

  /// All numbers at this moment.
  ///
  /// Nothing in it shares storage with what goes on being changed: ThreadSanitizer takes that for a race.
  var snapshot: PrometheusSnapshot {
    PrometheusSnapshot(
      buckets: buckets.map { $0 }, events: events.map { ($0.key, $0.value) },
      durations: durations.map { ($0.key, Histogram(counts: $0.value.counts.map { $0 }, sum: $0.value.sum)) },
      executing: executing.map { ($0.key, $0.value) })
  }
}
