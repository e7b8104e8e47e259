/// One line that shows how far a stage has come: `Checking links [#####.....]  21/42  example.org`.
enum ProgressBar {
  static func line(title: String, done: Int, total: Int, note: String, width: Int) -> String {
    let count = "\(done)/\(total)"
    let barWidth = min(30, width - title.count - count.count - 8)
    var line = title
    if barWidth >= 5 {
      let filled = total == 0 ? barWidth : barWidth * done / total
      line += " [" + String(repeating: "#", count: filled) + String(repeating: ".", count: barWidth - filled) + "]"
    }
    line += " \(count)  \(note)"
    // A line that is as wide as the terminal would begin a new one.
    return String(line.prefix(max(0, width - 1)))
  }
}
