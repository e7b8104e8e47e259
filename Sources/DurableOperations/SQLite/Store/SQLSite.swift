/// A place in the sources. Files are distinguished by the address of their name: at worst a
/// statement is prepared twice.
struct SQLSite: Hashable {
  let file: StaticString
  let line: UInt
  let column: UInt

  static func == (left: SQLSite, right: SQLSite) -> Bool {
    left.line == right.line && left.column == right.column && left.file.utf8Start == right.file.utf8Start
  }

  // Few files have a statement in the same line.
  func hash(into hasher: inout Hasher) { hasher.combine(line) }
}
