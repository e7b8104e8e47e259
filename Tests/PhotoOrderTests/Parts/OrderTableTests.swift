import Testing

@testable import PhotoOrder

@Suite struct OrderTableTests {
  private let rows = [
    Row(name: "Create Project", standing: .finished, progress: 1, elapsed: 0.04, note: "photo-order"),
    Row(name: "Photo 1 Available", standing: .waiting, progress: nil, elapsed: 83, note: ""),
    Row(name: "Upload Photo 1", standing: .pending, progress: 0, elapsed: nil, note: "after 2"),
    Row(name: "Upload Photo 2", standing: .held, progress: 0.55, elapsed: 59.95, note: "attempt 2"),
    Row(name: "Submit Order", standing: .failed, progress: 0.999, elapsed: 1.26, note: "it broke"),
  ]

  @Test func table_linesUp() {
    let table = OrderTable(rows: rows, symbols: .unicode, chosen: 1)
    #expect(
      table.lines(width: 100) == [
        "    #   task               state      progress         time    note",
        "    1 ✔ Create Project     finished   ██████████ 100 % 0.0 s   photo-order",
        " ❯  2 ◷ Photo 1 Available  waiting                     1:23",
        "    3 · Upload Photo 1     pending    ░░░░░░░░░░   0 %         after 2",
        "    4 ‖ Upload Photo 2     held       █████░░░░░  55 % 60.0 s  attempt 2",
        "    5 ✘ Submit Order       failed     █████████░  99 % 1.3 s   it broke",
      ])
  }

  @Test func table_inASCII_hasNothingElse() {
    let lines = OrderTable(rows: rows, symbols: .ascii, chosen: 1).lines(width: 100)
    #expect(lines.allSatisfy { $0.utf8.count == $0.count })
    #expect(lines[1] == "    1 + Create Project     finished   ########## 100 % 0.0 s   photo-order")
    #expect(lines[2].hasPrefix(" >  2 ? Photo 1"))
  }

  @Test func everyStanding_hasAnIconOfItsOwn() {
    for symbols in [Symbols.unicode, .ascii] {
      #expect(Set(Standing.allCases.compactMap { symbols.icons[$0] }).count == Standing.allCases.count)
    }
  }

  @Test(arguments: [1, 6, 7, 20, 40, 60, 80])
  func lines_fitTheWidth_withColorsToo(_ width: Int) {
    var table = OrderTable(rows: rows, symbols: .unicode, chosen: 0)
    let plain = table.lines(width: width)
    #expect(plain.allSatisfy { $0.count <= width })
    table.hasColors = true
    let colored = table.lines(width: width).map { line in
      line.replacing(#/\x1B\[[0-9]+m/#, with: "")
    }
    #expect(colored == plain)
  }

  @Test(arguments: [(0, "12"), (1, "12"), (2, "23"), (4, "45")])
  func table_thatIsTooHigh_showsWhatIsAroundTheChosenRow(_ chosen: Int, _ shown: String) {
    let lines = OrderTable(rows: rows, symbols: .unicode, chosen: chosen).lines(width: 100, height: 3)
    #expect(lines.count == 3)
    #expect(String(lines.dropFirst().map { $0.dropFirst(4).first ?? " " }) == shown)
  }
}
