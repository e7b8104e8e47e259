// Lists the public symbols in the symbol graphs of a library, one in a line, with its declaration.
// USAGE: public-symbols FILE.symbols.json…

import Foundation

/// The parts of a symbol graph that are looked at.
struct SymbolGraph: Decodable {
  struct Symbol: Decodable {
    struct Identifier: Decodable { let precise: String }
    struct Kind: Decodable { let identifier: String }
    struct Fragment: Decodable { let spelling: String }
    struct Location: Decodable { let uri: String }

    let identifier: Identifier
    let kind: Kind
    let pathComponents: [String]
    let declarationFragments: [Fragment]?
    let location: Location?
  }

  struct Relationship: Decodable {
    let kind: String
    let source: String
  }

  let symbols: [Symbol]
  let relationships: [Relationship]
}

var lines: Set<String> = []
for path in CommandLine.arguments.dropFirst() {
  let graph = try JSONDecoder().decode(SymbolGraph.self, from: Data(contentsOf: URL(filePath: path)))
  let overrides = Set(graph.relationships.filter { $0.kind == "overrides" }.map(\.source))
  for symbol in graph.symbols where !overrides.contains(symbol.identifier.precise) {
    // A symbol without a place in the sources was made by the compiler; of an extension its members count.
    guard symbol.location != nil, symbol.kind.identifier != "swift.extension" else { continue }
    let declaration = (symbol.declarationFragments ?? []).map(\.spelling).joined()
      .split(whereSeparator: \.isWhitespace).joined(separator: " ")
    lines.insert("\(symbol.pathComponents.joined(separator: ".")): \(declaration)")
  }
}
for line in lines.sorted() { print(line) }
