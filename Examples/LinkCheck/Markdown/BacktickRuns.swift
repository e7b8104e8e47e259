/// The runs of backticks of a text, which code spans begin and end with, by their length.
struct BacktickRuns {
  /// Where the runs of each length begin; the first of them is the last.
  private var starts: [Int: [Int]] = [:]

  init(in bytes: [UInt8]) {
    var end = bytes.endIndex
    while let last = bytes[..<end].lastIndex(of: .backtick) {
      let start = bytes[..<last].lastIndex { $0 != .backtick }.map { $0 + 1 } ?? 0
      starts[last + 1 - start, default: []].append(start)
      end = start
    }
  }

  /// The first run of `count` backticks from `start` on, which may not be less than it was before.
  mutating func first(of count: Int, from start: Int) -> Int? {
    while let first = starts[count]?.last {
      guard first < start else { return first }
      starts[count]?.removeLast()
    }
    return nil
  }
}
