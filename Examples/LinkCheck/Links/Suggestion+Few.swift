import ExampleSupport

extension Suggestion {
  /// As `nearest(to:among:)`, where there are not so many candidates that looking at all of them,
  /// for each of many broken links, would stop a check: a page or a folder with more has no
  /// suggestions.
  static func nearest(to word: String, amongFew candidates: some Collection<String>) -> String? {
    guard candidates.count <= 1000, word.utf8.count <= 100 else { return nil }
    return nearest(to: word, among: candidates)
  }
}
