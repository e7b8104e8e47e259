import CompositeOperationsCommandLine
import Testing

@Suite(.timeLimit(.minutes(30))) struct TableTests {
  @Test func table_linesUp_butLongCellsStandOut() {
    var table = Table()
    table.add("a", "bb", "c")
    table.add("aaa", "b", "cc")
    table.add("aa", String(repeating: "b", count: 70), "c")
    #expect(table.text == "  a    bb  c\n  aaa  b   cc\n  aa   \(String(repeating: "b", count: 70))  c\n")
  }
}
