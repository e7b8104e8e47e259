// Lists the public symbols in the symbol graphs of a library, or those of them that have no
// documentation comment.
// USAGE: public-symbols list|names|undocumented FILE.symbols.json…
//
// `list` prints each symbol with its declaration in a line. `names` prints how many names there are
// for users to learn: overloads count once, and codes, kinds and what conformances ask for do not.
// `undocumented` fails if there is one, or no symbol at all.

import Foundation

/// The parts of a symbol graph that the program reads.
struct SymbolGraph: Decodable {
  struct Symbol: Decodable {
    struct Identifier: Decodable { let precise: String }
    struct Kind: Decodable { let identifier: String }
    struct Fragment: Decodable { let spelling: String }
    struct Comment: Decodable { let lines: [Line] }
    struct Line: Decodable { let text: String }
    struct Location: Decodable {
      struct Position: Decodable { let line: Int }
      let uri: String
      let position: Position
    }

    let identifier: Identifier
    let kind: Kind
    let pathComponents: [String]
    let declarationFragments: [Fragment]?
    let docComment: Comment?
    let location: Location?

    var path: String { pathComponents.joined(separator: ".") }

    /// In one line, without what depends on whether the compiler prints it from sources or from a
    /// module: the types around a type, and the names of parameters without a label.
    var declaration: String {
      (declarationFragments ?? []).map(\.spelling).joined()
        .split(whereSeparator: \.isWhitespace).joined(separator: " ")
        .replacing(#/\bSelf\./#, with: "")
        .replacing(#/\b([A-Z]\w*\.)+(?=[A-Z])/#, with: "")
        .replacing(#/\b_ \w+: /#, with: "")
    }

    /// Whether it is a name of its own that users meet: no text of an error, no conformance that
    /// the language asks for, and no member of a list of codes or kinds.
    var isName: Bool {
      let conformances: Set = [
        "description", "debugDescription", "errorDescription", "customMirror", "encode(to:)", "init(from:)",
        "hash(into:)",
        "==(_:_:)", "<(_:_:)", "allCases",
      ]
      let lists: Set = ["Code", "Kind", "State"]
      return !conformances.contains(pathComponents.last ?? "")
        && pathComponents.dropLast().allSatisfy { !lists.contains($0) }
    }

    var isDocumented: Bool { docComment?.lines.contains { !$0.text.isEmpty } == true }

    var place: String {
      guard let location else { return "" }
      return "\(URL(string: location.uri)?.lastPathComponent ?? location.uri):\(location.position.line + 1)"
    }
  }

  struct Relationship: Decodable {
    let kind: String
    let source: String
  }

  let symbols: [Symbol]
  let relationships: [Relationship]

  /// Those that stand in the sources.
  ///
  /// A symbol without a place was made by the compiler. An override has the documentation of the
  /// method that it overrides. The members of an extension are symbols of their own.
  var written: [Symbol] {
    let overrides = Set(relationships.filter { $0.kind == "overrides" }.map(\.source))
    return symbols.filter {
      $0.location != nil && $0.kind.identifier != "swift.extension" && !overrides.contains($0.identifier.precise)
    }
  }
}

let arguments = CommandLine.arguments.dropFirst()
let symbols = try arguments.dropFirst().flatMap { path in
  try JSONDecoder().decode(SymbolGraph.self, from: Data(contentsOf: URL(filePath: path))).written
}
switch arguments.first {
case "list":
  for line in Set(symbols.map { "\($0.path): \($0.declaration)" }).sorted() { print(line) }
case "names":
  print(Set(symbols.filter(\.isName).map(\.path)).count)
case "undocumented":
  let undocumented = symbols.filter { !$0.isDocumented }
  for line in undocumented.map({ "\($0.place): \($0.path)" }).sorted() { print("not documented: \(line)") }
  print("\(symbols.count - undocumented.count) of \(symbols.count) public symbols are documented")
  exit(undocumented.isEmpty && !symbols.isEmpty ? 0 : 1)
default:
  print("USAGE: public-symbols list|names|undocumented FILE.symbols.json…")
  exit(2)
}
