import CompositeOperations
import OperationTimelines
import TestSupport
import Testing

@Suite("Critical path")
struct CriticalPathTests {
  private func entry(_ id: Int, in parent: Int? = nil, _ started: Int?, _ settled: Int?) -> Timeline.Entry {
    Timeline.Entry(
      id: id, parent: parent, queued: .zero, started: started.map { .milliseconds($0) },
      settled: settled.map { .milliseconds($0) })
  }

  @Test func criticalPath_ofParallelChildren_isTheLatest() {
    let timeline = Timeline(entries: [
      entry(1, 0, 10), entry(2, in: 1, 0, 4), entry(3, in: 1, 0, 9), entry(4, in: 1, 1, 8),
    ])
    #expect(timeline.criticalPath == [1, 3])
  }

  @Test func criticalPath_ofSteps_isAllThatWaitedForEachOther() {
    let timeline = Timeline(entries: [
      entry(1, 0, 10), entry(2, in: 1, 0, 3), entry(3, in: 1, 0, 4), entry(4, in: 1, 4, 7), entry(5, in: 1, 7, 10),
      entry(6, in: 4, 5, 6), entry(7, in: 5, nil, 10),
    ])
    #expect(timeline.criticalPath == [1, 3, 4, 6, 5])
  }

  @Test func criticalPath_ofUnsettled_goesThroughThem() {
    let timeline = Timeline(
      entries: [entry(1, 0, nil), entry(2, in: 1, 0, 3), entry(3, in: 1, 3, nil), entry(4, in: 1, nil, nil)],
      end: .milliseconds(8))
    #expect(timeline.criticalPath == [1, 2, 3])
  }

  @Test func criticalPath_ofChildThatOutlastsItsParent_counts() {
    let timeline = Timeline(entries: [entry(1, 0, 5), entry(2, in: 1, 1, 9), entry(3, in: 1, 0, 1), entry(4, 0, 4)])
    #expect(timeline.criticalPath == [1, 3, 2])
  }

  @Test func criticalPath_ofNothing_isEmpty() {
    #expect(Timeline(entries: []).criticalPath == [])
    #expect(Timeline(entries: [entry(1, nil, nil)]).criticalPath == [])
  }

  @Test func criticalPath_ofRandomTrees_isWhatItsDefinitionSays() {
    for seed in 0..<1000 as Range<UInt64> {
      let timeline = RandomTimeline.nested(seed: seed)
      #expect(timeline.criticalPath == Definition(timeline).path, "seed \(seed)")
    }
  }

  @Test func criticalPath_ofDeepTree_needsNoDeepStack() {
    let entries = (0..<100_000).map { entry($0 + 1, in: $0 == 0 ? nil : $0, 0, 10) }
    #expect(Timeline(entries: entries).criticalPath.count == 100_000)
  }
}

/// The critical path by its definition, looking at everything again and again.
private struct Definition {
  let timeline: Timeline
  var path: [Int] {
    let roots = timeline.entries.filter { $0.parent == nil && $0.started != nil }
    return latest(roots, until: timeline.end).map { inside($0, until: settled($0, timeline.end)) } ?? []
  }

  init(_ timeline: Timeline) {
    self.timeline = timeline
  }

  private func settled(_ entry: Timeline.Entry, _ limit: Duration) -> Duration {
    min(entry.settled ?? timeline.end, limit)
  }

  private func latest(_ entries: [Timeline.Entry], until limit: Duration) -> Timeline.Entry? {
    entries.max { left, right in
      (settled(left, limit), left.started!, left.id) < (settled(right, limit), right.started!, right.id)
    }
  }

  private func inside(_ entry: Timeline.Entry, until end: Duration) -> [Int] {
    var rest = timeline.entries.filter { $0.parent == entry.id && $0.started.map { $0 <= end } ?? false }
    var before = end
    var parts: [[Int]] = []
    while let last = latest(rest.filter { settled($0, end) <= before }, until: end) {
      parts.append(inside(last, until: settled(last, end)))
      before = last.started!
      // Of those at the same instants each is taken once, the later numbers first.
      rest.removeAll { other in
        (settled(other, end), other.started!, other.id) >= (settled(last, end), last.started!, last.id)
      }
    }
    return [entry.id] + parts.reversed().flatMap { $0 }
  }
}
