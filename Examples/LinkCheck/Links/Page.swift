/// What was read from one file.
struct Page: Sendable {
  struct Link: Equatable, Sendable {
    /// As it was written, without escapes and entities.
    let destination: String
    let line: Int
  }

  /// Something that is wrong whatever the link leads to.
  struct Problem: Equatable, Sendable {
    let text: String
    let line: Int
    let reason: String
  }

  let file: SourceFile
  /// In the order of the file.
  var links: [Link] = []
  /// The names that links to this page can point at.
  var anchors: Set<String> = []
  var problems: [Problem] = []
  /// Where relative links start, if the page says so itself.
  var base: String?
  /// Whether the page sends its reader to another one at once: then it needs no anchors.
  var isForwarded = false
  /// Why the file could not be read.
  var failure: String?

  init(file: SourceFile) {
    self.file = file
  }
}
