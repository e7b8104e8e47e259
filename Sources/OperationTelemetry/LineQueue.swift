import CompositeOperations

/// The lines that are not written yet. One thread at a time writes.
struct LineQueue {
  private(set) var lines = HeadedQueue<[UInt8]>()
  /// The part of the last line that could not be written yet.
  private var rest: [UInt8]?
  private var byteCount = 0
  /// Whether a thread writes, or will try again.
  private var isTaken = false
  /// How many lines were dropped since the last line that reports dropped lines.
  private var droppedCount = 0
  private let capacity: Int

  /// - Parameter capacity: the greatest number of bytes of lines that are kept.
  init(capacity: Int) { self.capacity = capacity }

  /// Adds a line, including its line end, if there is room. Returns whether the caller must write.
  mutating func enqueue(_ line: [UInt8]) -> Bool {
    guard byteCount == 0 || byteCount + line.count <= capacity else {
      droppedCount += 1
      return false
    }
    // The notice stands where the dropped lines would be.
    if let notice = takeNotice() { append(notice) }
    append(line)
    defer { isTaken = true }
    return !isTaken
  }

  private mutating func append(_ line: [UInt8]) {
    lines.append(line)
    byteCount += line.count
  }

  /// A line that reports how many lines were dropped since the last such line; nil for none.
  private mutating func takeNotice() -> [UInt8]? {
    guard droppedCount > 0 else { return nil }
    defer { droppedCount = 0 }
    let events = droppedCount == 1 ? "1 event was" : "\(droppedCount) events were"
    return Array("OperationTelemetry: \(events) not written, because nothing read standard error.\n".utf8)
  }

  /// Returns the bytes to write next; nil if there are none. Then the caller no longer writes.
  mutating func next() -> [UInt8]? {
    guard let line = rest.take() ?? lines.popFirst(leaving: []) else {
      let notice = takeNotice()
      isTaken = notice != nil
      return notice
    }
    byteCount -= line.count
    return line
  }

  /// Keeps the rest of the bytes of ``next()``, which could not be written. When the caller tries
  /// again, ``next()`` returns that rest first.
  mutating func putBack(_ rest: [UInt8]) {
    self.rest = rest
    byteCount += rest.count
  }
}
