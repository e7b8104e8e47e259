import CompositeOperationsCommandLine
import Testing

@Suite(.timeLimit(.minutes(30))) struct SuggestionTests {
  @Test(
    arguments: [
      ("guid.md", ["guide.md", "other.md"], "guide.md"), ("GUIDE.md", ["guide.md", "guides.md"], "guide.md"),
      ("xyz", ["abc"], nil), ("a", ["b"], "b"), ("", [], nil),
      // Two letters that have changed places are one mistake, not two.
      ("mial", ["mail"], "mail"), ("drian", ["train", "drain"], "drain"), ("ba", ["ab"], "ab"), ("liam", ["mail"], nil),
      ("abcd", ["badc"], nil),
    ] as [(String, [String], String?)])
  func suggestions_areNear(_ word: String, _ candidates: [String], _ nearest: String?) {
    #expect(Suggestion.nearest(to: word, among: candidates) == nearest)
  }
}
