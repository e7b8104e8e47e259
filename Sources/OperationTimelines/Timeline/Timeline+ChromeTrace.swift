import CompositeOperations

extension Timeline {
  /// The timeline in the JSON form of Chrome's traces, which <https://ui.perfetto.dev> opens, and
  /// so do other viewers.
  ///
  /// Units of work are complete events of the thread that started them. Where they overlap and
  /// neither is inside of the other, as asynchronous ones do, that thread has further tracks for
  /// them. Each composition has its own track, for it occupies no thread. The number of a thread is
  /// the same everywhere. What has not settled lasts until ``end``; what never started is left out.
  ///
  /// Times are in microseconds. The arguments of an event are the number, the parent, the ending,
  /// the attempt and the time that it waited.
  ///
  /// Characters of names and errors that could begin markup or end a script are escaped, so that
  /// the trace can stand in a page.
  public func chromeTrace() -> String {
    var trace = ChromeTrace(self)
    return trace.write()
  }
}

private struct ChromeTrace {
  /// The number that stands for an unknown thread.
  private static let unknownThread = 0

  private let timeline: Timeline
  private let parents: [Int?]
  private let isComposition: [Bool]
  private var lanes: [Int: ChromeLanes] = [:]
  private var threads: [Int: Timeline.Thread] = [:]
  /// The numbers of tracks. The first track of a thread has the number of the thread.
  private var numbers: Set<Int>
  private var lastFurther = 0
  private var events: [String] = []

  init(_ timeline: Timeline) {
    let tree = TimelineTree(timeline)
    self.timeline = timeline
    parents = tree.parents
    numbers = Set(timeline.entries.compactMap(\.thread?.number) + [ChromeTrace.unknownThread])
    isComposition = timeline.entries.enumerated().map { place, entry in
      !tree.children[place].isEmpty || !entry.kind.isUnit
    }
  }

  mutating func write() -> String {
    events = ["{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"operations\"}}"]
    // An event goes to a track in which it fits, so the outer of two events has to come first.
    let order = timeline.entries.indices.sorted { left, right in
      let (first, second) = (timeline.entries[left], timeline.entries[right])
      return (first.started ?? .zero, end(of: second), left) < (second.started ?? .zero, end(of: first), right)
    }
    for place in order where timeline.entries[place].started != nil { add(place) }
    for (place, (number, lanes)) in lanes.sorted(by: { $0.key < $1.key }).enumerated() {
      for (index, lane) in lanes.all.enumerated() {
        let name = (threads[number]?.name ?? "unknown thread") + (index == 0 ? "" : " · \(index + 1)")
        events.append(
          "{\"ph\":\"M\",\"pid\":1,\"tid\":\(lane.number),\"name\":\"thread_name\",\"args\":{\"name\":"
            + "\(string(name))}}")
        events.append(
          "{\"ph\":\"M\",\"pid\":1,\"tid\":\(lane.number),\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":"
            + "\(place * 1000 + index)}}")
      }
    }
    return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n" + events.joined(separator: ",\n") + "\n]}\n"
  }

  private func string(_ text: String) -> String {
    HarmlessText.quotedJSON(text, isForPage: true)
  }

  private func end(of entry: Timeline.Entry) -> Duration {
    max(entry.settled ?? timeline.end, entry.started ?? .zero)
  }

  private mutating func add(_ place: Int) {
    let entry = timeline.entries[place]
    let started = entry.started ?? entry.queued
    let end = end(of: entry)
    if let thread = entry.thread { threads[thread.number] = threads[thread.number] ?? thread }
    let (kind, name) = (string(entry.kind.rawValue), string(entry.title))
    let head = "\"pid\":1,\"cat\":\(kind),\"name\":\(name)"
    let arguments = "\"args\":{\(arguments(of: entry, place))}"
    let thread = entry.thread?.number ?? ChromeTrace.unknownThread
    if isComposition[place] {
      if lanes[thread] == nil { lanes[thread] = ChromeLanes(first: thread) }
      let common = "\(head),\"tid\":\(thread),\"id\":\"\(entry.id)\""
      events.append("{\"ph\":\"b\",\"ts\":\(started.microsecondsText),\(common),\(arguments)}")
      events.append("{\"ph\":\"e\",\"ts\":\(end.microsecondsText),\(common)}")
    } else {
      let lane = lane(on: thread, from: started, to: end)
      let duration = (end - started).microsecondsText
      events.append(
        "{\"ph\":\"X\",\"ts\":\(started.microsecondsText),\"dur\":\(duration),\"tid\":\(lane),\(head),\(arguments)}")
    }
  }

  /// Puts an event on a track of the thread in which it fits. Returns the number of the track.
  private mutating func lane(on thread: Int, from start: Duration, to end: Duration) -> Int {
    // Taken out, so that it is changed in place.
    var lanes = lanes.removeValue(forKey: thread) ?? ChromeLanes(first: thread)
    defer { self.lanes[thread] = lanes }
    if let number = lanes.place(from: start, to: end) { return number }
    return lanes.add(furtherNumber(), to: end)
  }

  /// A number that no thread has.
  private mutating func furtherNumber() -> Int {
    repeat { lastFurther += 1 } while !numbers.insert(lastFurther).inserted
    return lastFurther
  }

  private func arguments(of entry: Timeline.Entry, _ place: Int) -> String {
    var arguments = ["\"id\":\(entry.id)", "\"type\":\(string(entry.type))"]
    if let parent = parents[place] { arguments.append("\"parent\":\(timeline.entries[parent].id)") }
    switch entry.ending {
    case .success: arguments.append("\"ending\":\"success\"")
    case .failure(let message): arguments.append("\"ending\":\"failure\",\"error\":\(string(message))")
    case .cancelled: arguments.append("\"ending\":\"cancelled\"")
    case nil: arguments.append("\"ending\":\"running\"")
    }
    if let started = entry.started {
      arguments.append("\"waited\":\(string((started - entry.queued).shortText))")
    }
    arguments.append("\"attempt\":\(entry.attempt),\"tag\":\(entry.tag)")
    return arguments.joined(separator: ",")
  }
}

/// The tracks of one thread. The events of a track are apart, or inside of each other.
///
/// An event goes to the first track in which it fits. Where there are very many, only the first
/// ones are tried in order, and then the one that was used last, and one that is free: the time for
/// an event does not grow with the number of tracks.
private struct ChromeLanes {
  /// One track, with the ends of its open events: each is inside of the event before it.
  struct Lane {
    let number: Int
    var ends: [Duration] = []

    /// Forgets the events that have ended. Returns whether an event fits in then.
    mutating func fits(from start: Duration, to end: Duration) -> Bool {
      while let last = ends.last, last <= start { ends.removeLast() }
      return ends.last.map { end <= $0 } ?? true
    }
  }

  /// How many tracks are tried in order.
  private static let triedCount = 16

  private(set) var all: [Lane]
  /// The place of the track that was used last.
  private var last = 0
  /// When each further track is free, the earliest first: a heap. An entry is outdated if the track
  /// was used again.
  private var free: [(end: Duration, lane: Int)] = []

  init(first number: Int) {
    all = [Lane(number: number)]
  }

  /// Puts an event on a track in which it fits, in the order of their starts. Returns the number of
  /// the track; nil if there is none.
  mutating func place(from start: Duration, to end: Duration) -> Int? {
    for index in all.indices.prefix(Self.triedCount) where all[index].fits(from: start, to: end) {
      return put(on: index, to: end)
    }
    if last >= Self.triedCount, all[last].fits(from: start, to: end) { return put(on: last, to: end) }
    while let first = free.first, first.end <= start {
      removeFirstFree()
      if all[first.lane].fits(from: start, to: end), all[first.lane].ends.isEmpty {
        return put(on: first.lane, to: end)
      }
    }
    return nil
  }

  /// Adds a track for an event. Returns its number.
  mutating func add(_ number: Int, to end: Duration) -> Int {
    all.append(Lane(number: number))
    return put(on: all.count - 1, to: end)
  }

  private mutating func put(on index: Int, to end: Duration) -> Int {
    // The outermost event of a track is the last one of the open ones to end.
    if all[index].ends.isEmpty, index >= Self.triedCount { addFree((end, index)) }
    all[index].ends.append(end)
    last = index
    return all[index].number
  }

  private mutating func addFree(_ entry: (end: Duration, lane: Int)) {
    free.append(entry)
    var place = free.count - 1
    while place > 0, free[place].end < free[(place - 1) / 2].end {
      free.swapAt(place, (place - 1) / 2)
      place = (place - 1) / 2
    }
  }

  private mutating func removeFirstFree() {
    free.swapAt(0, free.count - 1)
    free.removeLast()
    var place = 0
    while true {
      let children = (2 * place + 1)..<min(2 * place + 3, max(free.count, 2 * place + 1))
      guard let least = children.min(by: { free[$0].end < free[$1].end }), free[least].end < free[place].end
      else { return }
      free.swapAt(place, least)
      place = least
    }
  }
}
