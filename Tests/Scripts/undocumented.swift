// Lists the public symbols in symbol graphs that have no documentation comment, and fails if there are any.
// USAGE: undocumented FILE.symbols.json…

import Foundation

/// The parts of a symbol graph that are looked at.
struct SymbolGraph: Decodable {
  struct Symbol: Decodable {
    struct Identifier: Decodable { let precise: String }
    struct Kind: Decodable { let identifier: String }
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
    let docComment: Comment?
    let location: Location?
  }

  struct Relationship: Decodable {
    let kind: String
    let source: String
  }

  let symbols: [Symbol]
  let relationships: [Relationship]
}

var symbolCount = 0
var undocumented: [String] = []
for path in CommandLine.arguments.dropFirst() {
  let graph = try JSONDecoder().decode(SymbolGraph.self, from: Data(contentsOf: URL(filePath: path)))
  // An override has the documentation of what it overrides.
  let overrides = Set(graph.relationships.filter { $0.kind == "overrides" }.map(\.source))
  for symbol in graph.symbols where !overrides.contains(symbol.identifier.precise) {
    // A symbol without a place in the sources was made by the compiler; an extension is documented by its members.
    guard let location = symbol.location, symbol.kind.identifier != "swift.extension" else { continue }
    symbolCount += 1
    if symbol.docComment?.lines.contains(where: { !$0.text.isEmpty }) != true {
      let file = URL(string: location.uri)?.lastPathComponent ?? location.uri
      undocumented.append("\(file):\(location.position.line + 1): \(symbol.pathComponents.joined(separator: "."))")
    }
  }
}
for line in undocumented.sorted() { print("not documented: \(line)") }
print("\(symbolCount - undocumented.count) of \(symbolCount) public symbols are documented")
exit(undocumented.isEmpty && symbolCount > 0 ? 0 : 1)
