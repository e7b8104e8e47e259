#if os(macOS) || os(Linux)
import Testing

/// Expects that what a process said when it trapped has all these words.
func expect(_ result: ExitTest.Result?, says words: String...) throws {
  let said = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
  for word in words { #expect(said.contains(word), "“\(word)” is not in: \(said)") }
}
#endif
