import CompositeOperations

/// Lines that have yet to be written, by one thread at a time.
struct LineQueue {
  private(set) var lines = HeadedQueue<[UInt8]>()
  /// What could not be written of the line that was taken last.
  private var rest: [UInt8]?
  private var byteCount = 0
  /// Whether a thread writes, or will look again.
  private var isTaken = false
  /// How many lines found no room since a line said so.
  private var droppedCount = 0
  private let capacity: Int

  /// - Parameter capacity: how many bytes of lines are kept.
  init(capacity: Int) { self.capacity = capacity }

  /// Adds a line, with its end, unless there is no room. Returns whether the caller has to write.
  mutating func enqueue(_ line: [UInt8]) -> Bool {
    guard byteCount == 0 || byteCount + line.count <= capacity else {
      droppedCount += 1
      return false
    }
    // Where the dropped lines would stand.
    if let notice = takeNotice() { append(notice) }
    append(line)
    defer { isTaken = true }
    return !isTaken
  }

  private mutating func append(_ line: [UInt8]) {
    lines.append(line)
    byteCount += line.count
  }

  /// A line that says how many were dropped since the last such line; nil if none were.
  private mutating func takeNotice() -> [UInt8]? {
    guard droppedCount > 0 else { return nil }
    defer { droppedCount = 0 }
    return Array("OperationTelemetry: \(droppedCount) events were not written: nothing read standard error.\n".utf8)
  }

  /// What to write next; nil if there is nothing, and the caller no longer writes.
  mutating func next() -> [UInt8]? {
    guard let line = rest.take() ?? lines.popFirst(leaving: []) else {
      let notice = takeNotice()
      isTaken = notice != nil
      return notice
    }
    byteCount -= line.count
    return line
  }

  /// The rest of what ``next()`` gave could not be written, and comes first when the caller looks
  /// again.
  mutating func putBack(_ rest: [UInt8]) {
    self.rest = rest
    byteCount += rest.count
  }
}
