import CompositeOperations

/// The numbers that a ``PrometheusSink`` has counted.
struct PrometheusState {
  /// The events that are counted together.
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
    /// The number of durations in each bucket that are in no bucket before it. The last number is
    /// for durations above all bounds.
    var counts: [Int]
    /// In seconds.
    var sum = 0.0
  }

  static let defaultBuckets: [Duration] =
    [5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 300_000, 1_800_000].map {
      .milliseconds($0)
    }

  /// The package has fewer libraries, and fewer kinds in each. But a program may report its own
  /// work.
  private static let (maxLibraryCount, maxKindCount) = (32, 100)
  /// The label of everything beyond the limits.
  private static let other = "other"

  /// The upper bounds, in seconds.
  let buckets: [Double]
  /// How many subjects are counted separately in each library.
  let maxSubjectCount: Int
  private var libraries: Set<String> = []
  private var subjects: [String: Set<String>] = [:]
  private var kinds: [String: Set<String>] = [:]
  private var events: [Series: Int] = [:]
  private var durations: [Series: Histogram] = [:]
  private var executing: [Subject: Int] = [:]

  init(buckets: [Double], maxSubjectCount: Int) {
    self.buckets = buckets
    self.maxSubjectCount = maxSubjectCount
  }

  mutating func count(_ event: TelemetryEvent) {
    let subject = counted(Subject(library: event.library, name: event.subject))
    let kind = event.kind.rawValue
    let isKnown = Self.isToldApart(kind, among: &kinds[subject.library, default: []], upTo: Self.maxKindCount)
    let series = Series(subject: subject, event: isKnown ? kind : Self.other)
    events[series, default: 0] += 1
    if event.kind == .started { executing[subject, default: 0] += 1 }
    guard let duration = event.duration else { return }
    executing[subject, default: 0] -= 1
    let seconds = duration / .seconds(1)
    let bucket = buckets.firstIndex { seconds <= $0 } ?? buckets.count
    durations[series, default: Histogram(counts: Array(repeating: 0, count: buckets.count + 1))].counts[bucket] += 1
    durations[series]?.sum += seconds
  }

  /// Returns the subject itself, or the common subject if the library has too many.
  private mutating func counted(_ subject: Subject) -> Subject {
    let isKnown = Self.isToldApart(subject.library, among: &libraries, upTo: Self.maxLibraryCount)
    var counted = Subject(library: isKnown ? subject.library : Self.other, name: subject.name)
    if !Self.isToldApart(counted.name, among: &subjects[counted.library, default: []], upTo: maxSubjectCount) {
      counted.name = Self.other
    }
    return counted
  }

  /// Whether a value is known, or there is room for another one.
  private static func isToldApart(_ value: String, among known: inout Set<String>, upTo maxCount: Int) -> Bool {
    if known.contains(value) { return true }
    guard known.count < maxCount else { return false }
    known.insert(value)
    return true
  }

  /// All numbers at this moment.
  ///
  /// The copy shares no storage with the state, because ThreadSanitizer takes shared storage for a
  /// race.
  var snapshot: PrometheusSnapshot {
    PrometheusSnapshot(
      buckets: buckets.map { $0 }, events: events.map { ($0.key, $0.value) },
      durations: durations.map { ($0.key, Histogram(counts: $0.value.counts.map { $0 }, sum: $0.value.sum)) },
      executing: executing.map { ($0.key, $0.value) })
  }
}
