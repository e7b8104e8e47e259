import CompositeOperations
import Foundation
import TestSupport
import Testing

@testable import OperationTimelines

@Suite("Texts of timelines")
struct TimelineWritersTests {
  // MARK: - Chrome trace

  private struct Event {
    let from: Double
    let to: Double
    let track: Int
    let arguments: [String: Any]

    /// Whole nanoseconds, which are what was written.
    var nanoseconds: ClosedRange<Int> { Int((from * 1000).rounded())...Int((to * 1000).rounded()) }
  }

  /// The trace as a JSON reader sees it, by the number of the entry.
  private func events(of timeline: Timeline) throws -> [Int: Event] {
    let json = try JSONSerialization.jsonObject(with: Data(timeline.chromeTrace().utf8))
    let list = try #require((json as? [String: Any])?["traceEvents"] as? [[String: Any]])
    var events: [Int: Event] = [:]
    for event in list {
      let time = (event["ts"] as? NSNumber)?.doubleValue ?? .nan
      let track = (event["tid"] as? NSNumber)?.intValue ?? 0
      switch event["ph"] as? String {
      case "X":
        let arguments = try #require(event["args"] as? [String: Any])
        let duration = try #require(event["dur"] as? NSNumber).doubleValue
        let id = try #require(arguments["id"] as? NSNumber).intValue
        #expect(events[id] == nil)
        events[id] = Event(from: time, to: time + duration, track: track, arguments: arguments)
      case "b":
        let arguments = try #require(event["args"] as? [String: Any])
        let id = try #require(arguments["id"] as? NSNumber).intValue
        let end = try #require(list.first { $0["ph"] as? String == "e" && $0["id"] as? String == "\(id)" })
        let endTime = try #require(end["ts"] as? NSNumber).doubleValue
        #expect(events[id] == nil)
        events[id] = Event(from: time, to: endTime, track: -id, arguments: arguments)
      case "e", "M": break
      default: Issue.record("an event of an unknown kind: \(event)")
      }
    }
    return events
  }

  @Test func chromeTrace_ofRandomTimelines_holdsTheSameIntervals() throws {
    for seed in 0..<200 as Range<UInt64> {
      let timeline = RandomTimeline.nested(seed: seed)
      let events = try events(of: timeline)
      let started = timeline.entries.filter { $0.started != nil }
      #expect(Set(events.keys) == Set(started.map(\.id)))
      for entry in started {
        let event = try #require(events[entry.id])
        #expect(abs(event.from - Double(entry.started!.nanoseconds) / 1000) < 1e-6)
        #expect(abs(event.to - Double((entry.settled ?? timeline.end).nanoseconds) / 1000) < 1e-6)
        #expect((event.arguments["parent"] as? NSNumber)?.intValue == entry.parent)
      }
      for (id, event) in events {
        for (other, second) in events where other != id && second.track == event.track {
          let (one, two) = (event.nanoseconds, second.nanoseconds)
          let isApart = one.upperBound <= two.lowerBound || two.upperBound <= one.lowerBound
          let isInside = one.lowerBound >= two.lowerBound && one.upperBound <= two.upperBound
          let isAround = one.lowerBound <= two.lowerBound && one.upperBound >= two.upperBound
          #expect(isApart || isInside || isAround, "\(id) and \(other) overlap on a track, seed \(seed)")
        }
      }
    }
  }

  /// Would take minutes if each event were compared with those of all tracks.
  @Test func chromeTrace_ofManyOverlappingEntries_hasATrackForEachThatRunsAtOnce() throws {
    let count = 40_000
    // In the first half each begins before the one before it ends, and none has ended when the last
    // one begins; those of the second half find the tracks of the first ones free.
    let entries = (0..<count).map { number in
      let started = number < count / 2 ? number : number + count / 2
      return Timeline.Entry(
        id: number + 1, started: .microseconds(started), settled: .microseconds(started + count / 2), ending: .success,
        thread: .init(number: 1))
    }
    let json = try JSONSerialization.jsonObject(with: Data(Timeline(entries: entries).chromeTrace().utf8))
    let list = try #require((json as? [String: Any])?["traceEvents"] as? [[String: Any]])
    // None is inside of another one, so those of a track are apart.
    var ends: [Int: Int] = [:]
    var seen = 0
    for event in list where event["ph"] as? String == "X" {
      let track = try #require(event["tid"] as? NSNumber).intValue
      let start = Int((try #require(event["ts"] as? NSNumber).doubleValue).rounded())
      let duration = Int((try #require(event["dur"] as? NSNumber).doubleValue).rounded())
      if start < ends[track, default: 0] { Issue.record("two events overlap on track \(track)") }
      ends[track] = start + duration
      seen += 1
    }
    #expect(seen == count)
    #expect(ends.count == count / 2)
  }

  @Test("The number of a thread is the same in every event, and has a name")
  func chromeTrace_ofCompositionAndWork_namesTheirThreadAlike() throws {
    let thread = Timeline.Thread(number: 2, name: "worker")
    func tracks(_ entries: [Timeline.Entry]) throws -> (of: [String: Set<Int>], names: [Int: String]) {
      let json = try JSONSerialization.jsonObject(with: Data(Timeline(entries: entries).chromeTrace().utf8))
      var tracks: [String: Set<Int>] = [:]
      var names: [Int: String] = [:]
      for event in try #require((json as? [String: Any])?["traceEvents"] as? [[String: Any]]) {
        guard let track = (event["tid"] as? NSNumber)?.intValue else { continue }
        if event["name"] as? String == "thread_name" {
          names[track] = (event["args"] as? [String: Any])?["name"] as? String
        } else if let kind = event["ph"] as? String, kind != "M" {
          tracks[kind, default: []].insert(track)
        }
      }
      return (tracks, names)
    }
    let root = Timeline.Entry(
      id: 1, kind: .parallel, started: .zero, settled: .seconds(2), ending: .success, thread: thread)
    let child = Timeline.Entry(
      id: 2, parent: 1, started: .zero, settled: .seconds(1), ending: .success, thread: thread)
    var (found, names) = try tracks([root, child])
    #expect(found == ["b": [2], "e": [2], "X": [2]])
    #expect(names == [2: "worker"])
    // Work that overlaps has a further track, with a number that no thread has.
    let other = Timeline.Entry(id: 3, parent: 1, started: .milliseconds(500), settled: .seconds(2), thread: thread)
    let elsewhere = Timeline.Entry(id: 4, parent: 1, started: .zero, settled: .seconds(2), thread: .init(number: 1))
    (found, names) = try tracks([root, child, other, elsewhere])
    #expect(found == ["b": [2], "e": [2], "X": [1, 2, 3]])
    #expect(names == [1: "thread 1", 2: "worker", 3: "worker · 2"])
    (_, names) = try tracks([.init(id: 1, started: .zero, thread: .init(number: .max)), .init(id: 2, started: .zero)])
    #expect(names == [.max: "thread \(Int.max)", 0: "unknown thread"])
  }

  // MARK: - Page

  @Test("The page says exactly how many units of work ran at once")
  func html_ofManyShortEntries_tellsTheExactMaximum() throws {
    func most(_ spans: [(from: Int, to: Int?)], kind: Timeline.Kind = .operation) throws -> Int {
      let root = Timeline.Entry(id: 0, kind: .parallel, started: .zero, settled: .seconds(1), ending: .success)
      let timeline = Timeline(
        entries: [root]
          + spans.enumerated().map { index, span in
            .init(
              id: index + 1, parent: 0, kind: kind, started: .microseconds(span.from),
              settled: span.to.map { .microseconds($0) })
          })
      let told = try #require(try data(of: timeline.html())["peak"] as? NSNumber).intValue
      #expect(told == timeline.peakConcurrency)
      return told
    }
    #expect(try most((0..<10_000).map { ($0, $0 + 1) }) == 1)
    #expect(try most([(0, 10), (5, 7), (6, 6), (7, 12), (11, nil)]) == 3)
    #expect(try most([(3, 3), (3, 3), (3, 3)]) == 1)
    #expect(try most([(0, nil), (0, nil), (9, 10)]) == 3)
    // What a policy waits for is no work.
    #expect(try most([(0, 10), (0, 10)], kind: .wait) == 0)
    #expect(Timeline(entries: []).peakConcurrency == 0)
  }

  private func data(of page: String) throws -> [String: Any] {
    let begin = try #require(page.range(of: "<script type=\"application/json\" id=\"data\">"))
    let end = try #require(page.range(of: "</script>", range: begin.upperBound..<page.endIndex))
    let json = try JSONSerialization.jsonObject(with: Data(page[begin.upperBound..<end.lowerBound].utf8))
    return try #require(json as? [String: Any])
  }

  @Test func html_ofRandomTimelines_holdsEveryEntry() throws {
    for seed in 0..<100 as Range<UInt64> {
      let timeline = RandomTimeline.nested(seed: seed)
      let data = try data(of: timeline.html())
      let rows = try #require(data["entries"] as? [[Any]])
      #expect(rows.count == timeline.entries.count)
      for (row, entry) in zip(rows, timeline.entries) {
        #expect((row[0] as? NSNumber)?.intValue == entry.id)
        #expect((row[1] as? NSNumber).map { timeline.entries[$0.intValue].id } == entry.parent)
        #expect(row[2] as? String == entry.title)
        #expect((row[5] as? NSNumber)?.int64Value == entry.queued.nanoseconds)
        #expect((row[6] as? NSNumber)?.int64Value == entry.started?.nanoseconds)
        #expect((row[7] as? NSNumber)?.int64Value == entry.settled?.nanoseconds)
      }
      let critical = try #require(data["critical"] as? [NSNumber]).map { timeline.entries[$0.intValue].id }
      #expect(critical == timeline.criticalPath)
    }
  }

  @Test(
    "Names do no harm", arguments: ["</script><script>alert(1)</script>", "<!-- \"' &amp; -->", "\u{2028}\0\u{1B}[31m"])
  func html_ofHostileNames_isStillOnePage(name: String) throws {
    let entry = Timeline.Entry(
      id: 1, name: name, type: name, kind: .init(rawValue: name), started: .zero, settled: .seconds(1),
      ending: .failure(message: name), thread: .init(number: 1, name: name))
    let timeline = Timeline(entries: [entry])
    let harmless = Timeline(entries: [.init(id: 1, name: "a", started: .zero, settled: .seconds(1))]).html(title: "b")
    let page = timeline.html(title: name)
    for part in ["<script", "</script", "<!--", "<title>", "</title>"] {
      #expect(page.components(separatedBy: part).count == harmless.components(separatedBy: part).count, "\(part)")
    }
    #expect(!page.contains("\0"))
    let data = try data(of: page)
    #expect(data["title"] as? String == name)
    #expect((data["entries"] as? [[Any]])?[0][2] as? String == name)
    // A trace may stand in a script of a page, too.
    let trace = timeline.chromeTrace()
    #expect(!trace.contains { "<>&'\u{2028}".contains($0) })
    let object = try JSONSerialization.jsonObject(with: Data(trace.utf8)) as? [String: Any]
    let events = try #require(object?["traceEvents"] as? [[String: Any]])
    #expect(events.contains { $0["name"] as? String == name })
  }

  @Test func html_refersToNothingElse() {
    let page = Timeline(entries: []).html()
    for word in ["src=", "href=", "url(", "@import", "http-equiv=\"refresh\"", "fetch(", "XMLHttpRequest"] {
      #expect(!page.contains(word), "\(word)")
    }
    #expect(page.components(separatedBy: "http").count == 3, "the policy and the name of SVG alone")
  }

  // MARK: - Text

  @Test func textTree_showsNestingEndingsAndWaits() {
    let timeline = Timeline(
      entries: [
        .init(
          id: 1, name: "import", kind: .sequence, started: .milliseconds(1), settled: .milliseconds(1201),
          ending: .success),
        .init(
          id: 2, parent: 1, name: "read\u{1B}[2J", started: .milliseconds(1), settled: .microseconds(13_400),
          ending: .success),
        .init(
          id: 3, parent: 1, type: "Upload", kind: .plain, queued: .milliseconds(14), started: .microseconds(16_100),
          settled: .milliseconds(1200), ending: .failure(message: "no\nanswer"), attempt: 2),
        .init(id: 4, parent: 3, name: "running", started: .milliseconds(1100)),
        .init(id: 5, parent: 1, name: "late", kind: .then),
        .init(id: 6, parent: 1, name: "gone", settled: .milliseconds(3), ending: .cancelled),
      ], end: .milliseconds(1201))
    #expect(
      timeline.textTree() == """
        ✓ import          1.20 s  waited 1.00 ms  *
        ├─ ✓ read\u{FFFD}[2J     12.4 ms  waited 1.00 ms  *
        ├─ ✗ Upload       1.18 s  waited 2.10 ms, attempt 2: no answer  *
        │  └─ … running   101 ms  waited 1.10 s  *
        ├─ · late (then)  not started
        └─ ⊘ gone         never started

        """)
  }

  @Test("No name turns the direction of the text beside it")
  func name_thatTurnsDirections_isShownAsItIs() {
    let timeline = Timeline(entries: [
      .init(
        id: 0, name: "invoice \u{202E}fdp.exe", started: .zero, settled: .seconds(1),
        ending: .failure(message: "\u{2067}no"))
    ])
    #expect(timeline.textTree().hasPrefix("✗ invoice \u{FFFD}fdp.exe  1.00 s  \u{FFFD}no"))
    #expect(
      timeline.mermaid().contains("invoice \u{FFFD}fdp.exe") && timeline.dot().contains("invoice \u{FFFD}fdp.exe"))
    #expect(timeline.html().contains("unicode-bidi: isolate"))
  }

  @Test func textTree_ofDeepTree_isNoLongerThanItsEntries() {
    let entries = (0..<20_000).map { Timeline.Entry(id: $0 + 1, parent: $0 == 0 ? nil : $0, started: .zero) }
    let text = Timeline(entries: entries).textTree()
    #expect(text.split(separator: "\n").count == 20_000)
    #expect(text.count < 20_000 * 300)
  }

  @Test(arguments: [
    (0, "0 ns"), (999, "999 ns"), (1000, "1.00 µs"), (1_234_567, "1.23 ms"), (45_060_000, "45.0 ms"),
    (999_999_999, "999 ms"),
    (59_990_000_000, "59.9 s"), (61_000_000_000, "1 min 1 s"), (3_723_000_000_000, "1 h 2 min"), (-1500, "-1.50 µs"),
  ])
  func durationText_hasThreeDigitsAndAUnit(nanoseconds: Int64, text: String) {
    #expect(Duration.nanoseconds(nanoseconds).shortText == text)
  }

  @Test func durations_beyondNanoseconds_areCutOff() {
    #expect(Duration.seconds(Int64.max).nanoseconds == .max)
    #expect(Duration.seconds(Int64.min).nanoseconds == .min)
    #expect(Duration.nanoseconds(-1).microsecondsText == "-0.001")
    #expect(Duration.seconds(Int64.min).shortText.hasPrefix("-"))
  }

  // MARK: - Graphs

  @Test func mermaid_ofTree_hasBoxesAndArrows() {
    let timeline = Timeline(entries: [
      .init(id: 7, name: "root", kind: .sequence, started: .zero, settled: .zero, ending: .success),
      .init(id: 8, parent: 7, name: "one", started: .zero, settled: .zero, ending: .failure(message: "")),
      .init(id: 9, parent: 7, name: "two", started: .zero),
    ])
    #expect(
      timeline.mermaid().hasPrefix(
        """
        flowchart TD
          subgraph n1["root · sequence"]
            n2["one"]:::failed
            n3["two"]:::executing
            n2 --> n3
          end
          class n1 finished
          classDef pending
        """))
    #expect(timeline.dot().hasPrefix("digraph \"root\" {"))
  }

  @Test(arguments: [
    ("https://host/x", "https:\u{2060}//host/x"), ("see www.host", "see www\u{2060}.host"),
    ("me@host", "me\u{2060}@host"), ("1. fetch", "\u{2060}1. fetch"), ("12) fetch", "\u{2060}12) fetch"),
    ("- x", "\u{2060}- x"), (" * x", "\u{2060} #42; x"), ("- *", "\u{2060}- #42;"),
    ("+", "\u{2060}+"), ("---", "\u{2060}---"), ("# x", "\u{2060}#35; x"), ("> x", "\u{2060}#gt; x"),
    ("a\n- b", "a<br/>\u{2060}- b"), ("1.5 s", "1.5 s"), ("-x", "-x"), ("a - b", "a - b"), ("2", "2"), ("a: b", "a: b"),
    ("[a](b)", "[a]\u{2060}(b)"), ("map[Int](keys)", "map[Int]\u{2060}(keys)"), ("[a] b", "[a] b"),
    ("[api]: fetch", "[api]\u{2060}: fetch"), ("Www.host", "Www\u{2060}.host"), ("2*3*4", "2#42;3#42;4"),
    ("~~x~~", "#126;#126;x#126;#126;"), ("fetch_all__users_", "fetch_all__users_"),
    ("__init__", "\u{2060}#95;#95;init__"), ("a _b", "a #95;b"), ("\u{915}\u{940}_x_", "\u{915}\u{940}#95;x_"),
    ("a_b\nc", "a_b<br/>c"),
    ("2*3*4\na", "2#42;\u{FEFF}3#42;\u{FEFF}4<br/>a"), ("_a_\n~\\!", "#95;\u{FEFF}a_<br/>#126;\u{FEFF}#92;\u{FEFF}!"),
    ("```\na", "\u{2060}#96;#96;#96;<br/>a"),
    ("restyle(image:_:)", "res\u{2060}tyle(image:#95;:)"), ("classDef:*", "class\u{2060}Def:#42;"),
    ("stylesheet https://h/_x", "s\u{2060}tylesheet https:\u{2060}//h/#95;x"),
    ("style: x", "style: x"), ("style _x", "style #95;x"),
  ])
  func mermaid_ofNamesLikeMarkdown_leavesNothingToMarkdown(_ name: String, _ shown: String) {
    let drawing = Timeline(entries: [.init(id: 1, name: name, started: .zero)]).mermaid()
    #expect(drawing.contains("\n  n1[\"\(shown)\"]:::executing\n"), "\(drawing)")
  }

  // MARK: - Anything

  @Test func writers_ofSenselessTimelines_writeEveryEntryOnce() throws {
    for seed in 0..<500 as Range<UInt64> {
      let timeline = RandomTimeline.senseless(seed: seed)
      var visits: [Int] = []
      TimelineTree(timeline).walk { visits.append($0.place) }
      #expect(visits.sorted() == Array(timeline.entries.indices))
      #expect(timeline.textTree().split(separator: "\n").count == timeline.entries.count)
      #expect(try #require(data(of: timeline.html())["entries"] as? [[Any]]).count == timeline.entries.count)
      _ = try JSONSerialization.jsonObject(with: Data(timeline.chromeTrace().utf8))
      #expect(Set(timeline.criticalPath).isSubset(of: Set(timeline.entries.map(\.id))))
      #expect(timeline.dot().components(separatedBy: "fillcolor").count == timeline.entries.count + 1)
    }
  }

  @Test func writers_ofNothing_writeNothing() throws {
    let nothing = Timeline(entries: [])
    #expect(nothing.textTree() == "")
    #expect(try (data(of: nothing.html())["entries"] as? [[Any]])?.isEmpty == true)
    _ = try JSONSerialization.jsonObject(with: Data(nothing.chromeTrace().utf8))
    #expect(nothing.end == .zero && nothing.start == .zero)
  }
}
