import Foundation
import TestSupport
import Testing

@testable import LinkCheck

@Suite struct ProgressTests {
  @Test(arguments: [
    (0, 4, 60, "Reading [..............................] 0/4  a.md"),
    (2, 4, 60, "Reading [###############...............] 2/4  a.md"),
    (4, 4, 60, "Reading [##############################] 4/4  a.md"),
    (0, 0, 60, "Reading [##############################] 0/0  a.md"),
    (2, 4, 30, "Reading [######......] 2/4  a"),
    (2, 4, 20, "Reading 2/4  a.md"),
    (2, 4, 5, "Read"),
  ])
  func bar_fitsTheWidth(_ done: Int, _ total: Int, _ width: Int, _ line: String) {
    #expect(ProgressBar.line(title: "Reading", done: done, total: total, note: "a.md", width: width) == line)
    #expect(line.count < width)
  }

  @Test func reporter_withoutATerminal_printsPlainLines() {
    let lines = EventRecorder<String>()
    let reporter = ProgressReporter(isBar: false, width: { 80 }, write: { lines.record($0) })
    reporter.begin("Reading", total: 60)
    for _ in 0..<60 { reporter.step("a.md") }
    reporter.say("something")
    reporter.begin("Checking", total: 0)
    reporter.end()
    #expect(lines.events == ["Reading: 60\n", "Reading: 25 of 60\n", "Reading: 50 of 60\n", "something\n"])
  }

  @Test func reporter_onATerminal_drawsOneLineAndTakesItAway() {
    let writes = EventRecorder<String>()
    let reporter = ProgressReporter(isBar: true, width: { 60 }, write: { writes.record($0) })
    reporter.begin("Reading", total: 1)
    reporter.step("a.md")
    reporter.say("something")
    reporter.end()
    reporter.end()
    let clear = "\r\u{1B}[K"
    let full = clear + "Reading [##############################] 1/1  a.md"
    #expect(
      writes.events == [
        clear + "Reading [..............................] 0/1  ", full, clear, "something\n", full, clear,
      ])
  }

  @Test func table_linesUp_butLongCellsStandOut() {
    var table = Table()
    table.add("a", "bb", "c")
    table.add("aaa", "b", "cc")
    table.add("aa", String(repeating: "b", count: 70), "c")
    #expect(table.text == "  a    bb  c\n  aaa  b   cc\n  aa   \(String(repeating: "b", count: 70))  c\n")
  }
}
