/// Finds a mark in a text that is read from left to right.
///
/// It remembers its last answer, which holds for every start up to there. So a text with many
/// beginnings and no end is read to its end once, not for each of them.
struct MarkSearch {
  private let mark: StaticString
  private var answer: (start: Int, found: Int?)?

  /// - Parameter mark: What to look for, in lower case; it is found in any case of letters.
  init(_ mark: StaticString) {
    self.mark = mark
  }

  /// Where the mark that stands first from `start` on ends. `bytes` is the same text each time.
  mutating func end(in bytes: [UInt8], from start: Int) -> Int? {
    let found: Int?
    if let answer, answer.start <= start, start <= answer.found ?? .max {
      found = answer.found
    } else {
      found = bytes.firstIndex(of: mark, from: start)
      answer = (start, found)
    }
    return found.map { $0 + mark.utf8CodeUnitCount }
  }
}
