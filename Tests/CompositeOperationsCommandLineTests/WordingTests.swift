import CompositeOperationsCommandLine
import Testing

@Suite(.timeLimit(.minutes(30))) struct WordingTests {
  @Test(
    arguments: [
      ("", 5, []), ("one", 5, ["one"]), ("one two", 7, ["one two"]), ("one two", 6, ["one", "two"]),
      ("a longest b", 3, ["a", "longest", "b"]), ("  one   two ", 20, ["one two"]),
    ] as [(String, Int, [String])])
  func lines_areNotLongerThanTheyMayBe_unlessAWordIs(_ text: String, _ width: Int, _ lines: [String]) {
    #expect(Wording.lines(text, of: width) == lines)
  }
}
