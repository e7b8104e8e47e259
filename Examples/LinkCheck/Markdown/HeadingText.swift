/// The text that inline markup shows, as far as the anchors of headings need it: without the
/// underscores of emphasis.
///
/// Asterisks and the like may stay, no anchor contains them; underscores may be letters of a name.
struct HeadingText {
  struct Mark {
    fileprivate let bytes: Int
    fileprivate let runs: Int
  }

  private struct Run {
    let start: Int
    var count: Int
    let canOpen: Bool
    let canClose: Bool
  }

  private var bytes: [UInt8] = []
  private var runs: [Run] = []

  mutating func append(_ byte: UInt8) {
    bytes.append(byte)
  }

  /// Appends a run of underscores that stands between two characters of the source.
  mutating func appendUnderscores(_ count: Int, before: UInt8, after: UInt8) {
    let opens = !after.isWhitespace && (!after.isPunctuation || before.isWhitespace || before.isPunctuation)
    let closes = !before.isWhitespace && (!before.isPunctuation || after.isWhitespace || after.isPunctuation)
    runs.append(
      Run(
        start: bytes.count, count: count,
        canOpen: opens && (!closes || before.isPunctuation), canClose: closes && (!opens || after.isPunctuation)))
    bytes.append(contentsOf: repeatElement(.underscore, count: count))
  }

  /// This point of the text, to come back to.
  var mark: Mark { Mark(bytes: bytes.count, runs: runs.count) }

  /// Takes back everything behind `mark`.
  mutating func cut(to mark: Mark) {
    bytes.removeSubrange(mark.bytes...)
    runs.removeSubrange(mark.runs...)
  }

  var string: String {
    var remaining = runs
    var open: [Int] = []
    for index in remaining.indices {
      if remaining[index].canClose {
        while remaining[index].count > 0, let opener = open.last {
          let used = min(remaining[index].count, remaining[opener].count, 2)
          remaining[opener].count -= used
          remaining[index].count -= used
          if remaining[opener].count == 0 { open.removeLast() }
        }
      }
      if remaining[index].canOpen, remaining[index].count > 0 { open.append(index) }
    }
    var shown: [UInt8] = []
    var position = 0
    for (run, left) in zip(runs, remaining) {
      shown += bytes[position..<run.start]
      shown += repeatElement(.underscore, count: left.count)
      position = run.start + run.count
    }
    return (shown + bytes[position...]).text
  }
}
