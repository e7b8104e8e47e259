/// Lines that have yet to be written, by one thread at a time.
struct LineQueue {
  private var lines: [[UInt8]] = []
  private var first = 0
  private var byteCount = 0
  /// Whether a thread writes, or will look again.
  private var isTaken = false
  /// How many lines found no room since the last was taken.
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
    lines.append(line)
    byteCount += line.count
    defer { isTaken = true }
    return !isTaken
  }

  /// What to write next; nil if there is nothing, and the caller no longer writes.
  mutating func next() -> [UInt8]? {
    if first == lines.count {
      lines = []
      first = 0
      guard droppedCount > 0 else {
        isTaken = false
        return nil
      }
      defer { droppedCount = 0 }
      return Array("OperationTelemetry: \(droppedCount) events were not written: nothing read standard error.\n".utf8)
    }
    defer { first += 1 }
    byteCount -= lines[first].count
    // What was taken is released.
    return lines[first].take()
  }

  /// The rest of what ``next()`` gave could not be written, and comes first when the caller looks again.
  mutating func putBack(_ rest: [UInt8]) {
    if first == 0 {
      lines.insert(rest, at: 0)
    } else {
      first -= 1
      lines[first] = rest
    }
    byteCount += rest.count
  }
}

extension [UInt8] {
  /// The bytes, which are no longer here.
  fileprivate mutating func take() -> [UInt8] {
    var taken: [UInt8] = []
    swap(&taken, &self)
    return taken
  }
}
