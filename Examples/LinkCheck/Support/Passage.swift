/// A run of source text, as bytes, that still knows on which line of its file each byte stood.
///
/// What a block of Markdown says is often not one piece of its file: the marks of quotes and lists
/// stand in between.
struct Passage: Equatable, Sendable {
  private(set) var bytes: [UInt8] = []
  private var starts: [(offset: Int, line: Int)] = []

  /// An empty passage, to be filled line by line.
  init() {}

  /// A whole file.
  init(wholeFile bytes: [UInt8]) {
    self.bytes = bytes
    starts = [(0, 1)]
    for (offset, byte) in bytes.enumerated() where byte == .newline {
      starts.append((offset + 1, starts.count + 1))
    }
  }

  var isEmpty: Bool { starts.isEmpty }

  /// Appends a line: `indent` spaces, and `content`.
  mutating func append(_ content: ArraySlice<UInt8>, indent: Int = 0, line: Int) {
    if !starts.isEmpty { bytes.append(.newline) }
    starts.append((bytes.count, line))
    bytes.append(contentsOf: repeatElement(.space, count: indent))
    bytes.append(contentsOf: content)
  }

  /// Gives the text away, and is empty afterwards.
  mutating func take() -> Passage {
    defer { self = Passage() }
    return self
  }

  /// The line of the file on which the byte at `offset` stands.
  func line(at offset: Int) -> Int {
    var low = 0
    var high = starts.count
    while high - low > 1 {
      let middle = (low + high) / 2
      if starts[middle].offset <= offset { low = middle } else { high = middle }
    }
    return starts.isEmpty ? 1 : starts[low].line
  }

  /// The passage without its first `count` bytes.
  func dropping(_ count: Int) -> Passage {
    var rest = Passage()
    rest.bytes = Array(bytes.dropFirst(count))
    rest.starts = starts.filter { $0.offset > count }.map { ($0.offset - count, $0.line) }
    if count < bytes.count { rest.starts.insert((0, line(at: count)), at: 0) }
    return rest
  }

  static func == (first: Passage, second: Passage) -> Bool {
    first.bytes == second.bytes && first.starts.elementsEqual(second.starts, by: ==)
  }
}
