// Lists the public symbols in the symbol graphs of a library, or those of them that have no
// documentation comment.
// USAGE: public-symbols list|names|undocumented FILE.symbols.json…
//
// `list` prints each symbol with its declaration in a line. `undocumented` fails if there is one,
// or no symbol at all. `names` prints how many names there are for users to learn. Overloads count
// once, also those under a class and under a protocol of its subclasses. These do not count:
//
// - what a conformance asks for, of a protocol of any module; what a result builder has to have;
// - members of lists: cases of an enum, and static members of a struct or an enum that are values
//   of it, such as `.retry` and `.retry(after:)`;
// - what is deprecated.

import Foundation

/// The parts of a symbol graph that the program reads.
struct SymbolGraph: Decodable {
  struct Symbol: Decodable {
    struct Identifier: Decodable { let precise: String }
    struct Kind: Decodable { let identifier: String }
    struct Fragment: Decodable {
      let kind: String
      let spelling: String
      let preciseIdentifier: String?
    }
    struct Signature: Decodable { let returns: [Fragment]? }
    struct Comment: Decodable { let lines: [Line] }
    struct Availability: Decodable { let isUnconditionallyDeprecated: Bool? }
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
    let functionSignature: Signature?
    let docComment: Comment?
    let availability: [Availability]?
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

    /// The last part of its path, with the labels of a function.
    var name: String { pathComponents.last ?? "" }

    /// The identifier of the type of its value; nil if that is more than a name, such as an array.
    var valueType: String? {
      let type: ArraySlice<Fragment>
      if let functionSignature {
        type = functionSignature.returns.map { $0[...] } ?? []
      } else {
        type = (declarationFragments ?? []).drop { !$0.spelling.hasPrefix(":") }.dropFirst()
          .prefix { !$0.spelling.contains("{") }
      }
      guard type.allSatisfy({ $0.kind == "typeIdentifier" || $0.spelling == "." }) else { return nil }
      return type.last?.preciseIdentifier
    }

    var isResultBuilder: Bool { declarationFragments?.contains { $0.spelling == "@resultBuilder" } == true }

    var isDeprecated: Bool { availability?.contains { $0.isUnconditionallyDeprecated == true } == true }

    var isDocumented: Bool { docComment?.lines.contains { !$0.text.isEmpty } == true }

    var place: String {
      guard let location else { return "" }
      return "\(URL(string: location.uri)?.lastPathComponent ?? location.uri):\(location.position.line + 1)"
    }
  }

  struct Relationship: Decodable {
    /// What the source has from another symbol: for a member, the requirement that it fulfils.
    struct Origin: Decodable { let identifier: String }

    let kind: String
    let source: String
    let target: String
    let sourceOrigin: Origin?
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

extension SymbolGraph {
  /// The graphs of a module as one. What a module adds to types of another one has a graph of its
  /// own.
  init(joining graphs: [SymbolGraph]) {
    self.init(symbols: graphs.flatMap(\.symbols), relationships: graphs.flatMap(\.relationships))
  }

  /// The names that users learn, each once.
  var names: Set<String> {
    let byIdentifier = Dictionary(symbols.map { ($0.identifier.precise, $0) }) { first, _ in first }
    let memberships = relationships.filter { $0.kind == "memberOf" || $0.kind == "requirementOf" }
    let owners = Dictionary(memberships.map { ($0.source, $0.target) }) { first, _ in first }
    let witnesses = Set(memberships.filter { $0.sourceOrigin != nil }.map(\.source))
    let extensions = relationships.filter { $0.kind == "extensionTo" }
    let extended = Dictionary(extensions.map { ($0.source, $0.target) }) { first, _ in first }

    /// Whether a conformance, a result builder or a list asks for the symbol.
    func isAskedFor(_ symbol: Symbol) -> Bool {
      if witnesses.contains(symbol.identifier.precise) || symbol.kind.identifier == "swift.enum.case" { return true }
      guard let owner = owners[symbol.identifier.precise].flatMap({ byIdentifier[$0] }),
        symbol.kind.identifier.hasPrefix("swift.type.")
      else { return false }
      if owner.isResultBuilder { return symbol.name.hasPrefix("build") }
      let mayBeAList = owner.kind.identifier == "swift.struct" || owner.kind.identifier == "swift.enum"
      return mayBeAList && symbol.valueType == owner.identifier.precise
    }

    /// The members of protocols by what they are called in all classes that a protocol is for, and,
    /// for functions that belong to no type, by their names.
    var ofProtocols: [String: String] = [:]
    let classes = Dictionary(grouping: relationships.filter { $0.kind == "inheritsFrom" }, by: \.source)
    for symbol in written where !isAskedFor(symbol) {
      guard let owner = owners[symbol.identifier.precise].flatMap({ byIdentifier[$0] }),
        owner.kind.identifier == "swift.protocol"
      else { continue }
      ofProtocols[symbol.name] = symbol.path
      for parent in classes[owner.identifier.precise] ?? [] {
        ofProtocols["\(parent.target) \(symbol.name)"] = symbol.path
      }
    }

    return Set(
      written.filter { !isAskedFor($0) && !$0.isDeprecated }.map { symbol in
        if symbol.kind.identifier == "swift.func" { return ofProtocols[symbol.name] ?? symbol.path }
        guard let parent = owners[symbol.identifier.precise].flatMap({ extended[$0] }) else { return symbol.path }
        return ofProtocols["\(parent) \(symbol.name)"] ?? symbol.path
      })
  }
}

let arguments = CommandLine.arguments.dropFirst()
let graph = SymbolGraph(
  joining: try arguments.dropFirst().map { path in
    try JSONDecoder().decode(SymbolGraph.self, from: Data(contentsOf: URL(filePath: path)))
  })
let symbols = graph.written
switch arguments.first {
case "list":
  for line in Set(symbols.map { "\($0.path): \($0.declaration)" }).sorted() { print(line) }
case "names":
  print(graph.names.count)
case "undocumented":
  let undocumented = symbols.filter { !$0.isDocumented }
  for line in undocumented.map({ "\($0.place): \($0.path)" }).sorted() { print("not documented: \(line)") }
  print("\(symbols.count - undocumented.count) of \(symbols.count) public symbols are documented")
  exit(undocumented.isEmpty && !symbols.isEmpty ? 0 : 1)
default:
  print("USAGE: public-symbols list|names|undocumented FILE.symbols.json…")
  exit(2)
}
