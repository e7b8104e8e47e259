/// The needed fields of the one line of `/proc/<pid>/stat`.
struct ProcessStat: Equatable {
  let processID: Int64
  /// The third field: R, S, D, Z …
  let state: Character
  /// The 20th field.
  let threadCount: Int64
  /// The 22nd field: when the process started, in clock ticks after the machine did.
  let startTime: Int64

  /// Parses the line; nil if it is not one.
  init?(line: [UInt8]) {
    // The second field is the program's name in parentheses, and may itself hold anything:
    // parentheses, spaces, line breaks, and bytes that are no text. No later field has a
    // parenthesis.
    guard let opening = line.firstIndex(of: UInt8(ascii: "(")), let closing = line.lastIndex(of: UInt8(ascii: ")")),
      opening < closing
    else { return nil }
    let fields = Self.fields(line[..<opening]) + Self.fields(line[(closing + 1)...])
    guard fields.count >= 21, let processID = Int64(fields[0]), fields[1].count == 1, let state = fields[1].first,
      let threadCount = Int64(fields[18]), let startTime = Int64(fields[20])
    else { return nil }
    self.processID = processID
    self.state = state
    self.threadCount = threadCount
    self.startTime = startTime
  }

  private static func fields(_ bytes: ArraySlice<UInt8>) -> [Substring] {
    String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
  }

  /// Whether nothing of the process runs any longer, though its id is still taken.
  var hasEnded: Bool {
    switch state {
    case "X", "x": true
    // A process whose first thread has ended looks the same while its other threads go on.
    case "Z": threadCount <= 1
    default: false
    }
  }
}
