// Compares what the documentation tells readers of the source with the sources: sizes, names,
// flows. Tests/Scripts/check-sizes says how to use it.
// USAGE: check-sizes [--write] [--symbols FILE]

import Foundation

let table = "Documentation/ForReadersOfTheSource.md"
let internals = "Documentation/Internals"
let glossary = "\(internals)/Glossary.md"
let sources = "Sources"

func fail(_ message: String) -> Never {
  fflush(nil)
  FileHandle.standardError.write(Data("check-sizes: \(message)\n".utf8))
  exit(2)
}

func read(_ path: String) -> String {
  guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { fail("\(path) cannot be read") }
  return text
}

func lines(of text: String) -> [Substring] {
  var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
  // The last line ends with a line feed, too.
  if lines.last?.isEmpty == true { lines.removeLast() }
  return lines
}

// MARK: - Counting

/// A file of Swift or C, relative to its target.
struct SourceFile {
  let path: String
  let lineCount: Int
  let codeLineCount: Int
  let publicTypeCount: Int
  /// The modules that it imports.
  let imports: Set<String>
  let declaredNames: Set<String>

  init(_ path: String, in target: String) {
    self.path = path
    let all = lines(of: read("\(sources)/\(target)/\(path)"))
    lineCount = all.count
    var code = 0
    var isInComment = false
    for line in all.map({ $0.trimmingCharacters(in: .whitespaces) }) {
      if isInComment {
        isInComment = !line.contains("*/")
      } else if line.hasPrefix("/*") {
        isInComment = !line.contains("*/")
      } else if !line.isEmpty, !line.hasPrefix("//") {
        code += 1
      }
    }
    codeLineCount = code
    publicTypeCount = all.count { Self.declaresPublicType($0) }
    imports = Set(all.compactMap(Self.importedModule))
    declaredNames = all.reduce(into: []) { $0.formUnion(Self.declaredNames(in: $1)) }
  }

  // Without regular expressions, which would take most of a minute for all files.

  /// The words of a line, without attributes.
  private static func words(of line: Substring) -> ArraySlice<Substring> {
    line.split(separator: " ").filter { !$0.hasPrefix("@") }[...]
  }

  private static func declaresPublicType(_ line: Substring) -> Bool {
    let words = words(of: line)
    guard let access = words.first, ["public", "open"].contains(access) else { return false }
    let declaration = words.dropFirst().drop { $0 == "final" || $0 == "indirect" }
    guard let keyword = declaration.first, let name = declaration.dropFirst().first else { return false }
    return ["class", "struct", "enum", "protocol", "actor"].contains(keyword) && name.first!.isUppercase
  }

  private static func importedModule(_ line: Substring) -> String? {
    let words = words(of: line).drop { ["public", "package", "internal", "private"].contains($0) }
    return words.first == "import" ? words.dropFirst().first.map(String.init) : nil
  }

  /// The names behind the keywords of declarations.
  private static func declaredNames(in line: Substring) -> [String] {
    let words = line.split(separator: " ")
    return zip(words, words.dropFirst()).compactMap { keyword, name in
      ["func", "var", "let", "class", "struct", "enum", "protocol", "typealias"].contains(keyword)
        ? String(name.prefix { $0.isLetter || $0.isNumber }) : nil
    }
  }

  var folder: String? { path.contains("/") ? String(path[..<path.lastIndex(of: "/")!]) : nil }
}

/// What is counted of a target, or of all together.
struct Sizes {
  var folders = 0
  var files: [(path: String, lineCount: Int)] = []
  var codeLines = 0
  var publicTypes = 0
  var imports: Set<String> = []
  var declaredNames: Set<String> = []

  init() {}

  init(of target: String) {
    var found: [SourceFile] = []
    for case let path as String in FileManager.default.enumerator(atPath: "\(sources)/\(target)") ?? .init()
    where [".swift", ".c", ".h"].contains(where: path.hasSuffix) && !path.contains(".docc/") {
      found.append(SourceFile(path, in: target))
    }
    folders = Set(found.filter { $0.path.hasSuffix(".swift") }.compactMap(\.folder)).count
    files = found.map { ("\(target)/\($0.path)", $0.lineCount) }
    codeLines = found.reduce(0) { $0 + $1.codeLineCount }
    publicTypes = found.reduce(0) { $0 + $1.publicTypeCount }
    imports = found.reduce(into: []) { $0.formUnion($1.imports) }
    declaredNames = found.reduce(into: []) { $0.formUnion($1.declaredNames) }
  }

  mutating func add(_ other: Sizes) {
    folders += other.folders
    files += other.files
    codeLines += other.codeLines
    publicTypes += other.publicTypes
    declaredNames.formUnion(other.declaredNames)
  }

  var lineCount: Int { files.reduce(0) { $0 + $1.lineCount } }

  var median: Int {
    let counts = files.map(\.lineCount).sorted()
    return counts.isEmpty ? 0 : counts[counts.count / 2]
  }

  /// Of several as long as each other the first by name, so that the table does not depend on the
  /// file system.
  var longest: (path: String, lineCount: Int) {
    files.max { ($0.lineCount, $1.path) < ($1.lineCount, $0.path) } ?? ("", 0)
  }
}

// MARK: - The table

/// A column that is counted, by its title.
enum Column: String, CaseIterable {
  case folders, files, lines
  case code = "lines of code"
  case median = "median file"
  case longest = "longest file"
  case symbols = "public symbols"
  case types = "public types"

  /// How far a small number may be from the count.
  var slack: Int {
    switch self {
    case .folders: 1
    case .files: 2
    case .lines, .code: 50
    case .median: 10
    case .longest: 40
    case .symbols: 10
    case .types: 3
    }
  }

  /// The count, as far as it is known.
  func count(_ sizes: Sizes, symbols: Int?) -> Int? {
    switch self {
    case .folders: sizes.folders
    case .files: sizes.files.count
    case .lines: sizes.lineCount
    case .code: sizes.codeLines
    case .median: sizes.median
    case .longest: sizes.longest.lineCount
    case .symbols: symbols
    case .types: sizes.publicTypes
    }
  }

  /// What stands in the table for a count.
  func text(_ count: Int, _ sizes: Sizes) -> String {
    switch self {
    case .folders, .files, .types: grouped(count)
    case .lines, .code, .median, .symbols: grouped(rounded(count))
    case .longest:
      "\(grouped(rounded(count))) [\(sizes.longest.path.split(separator: "/").last!)](../\(sources)/\(sizes.longest.path))"
    }
  }
}

/// With two significant figures.
func rounded(_ number: Int) -> Int {
  var unit = 1
  while number / unit >= 100 { unit *= 10 }
  return (number + unit / 2) / unit * unit
}

/// As in 16,000.
func grouped(_ number: Int) -> String {
  number < 1000 ? "\(number)" : "\(grouped(number / 1000)),\(String(format: "%03d", number % 1000))"
}

/// The number at the beginning of a cell.
func number(in cell: String) -> Int? {
  cell.firstMatch(of: /^[0-9,]+/).flatMap { Int($0.0.filter { $0 != "," }) }
}

/// The paths of the repository that a text links to, relative to its root. Articles are in a folder
/// of it.
func linkedPaths(in text: String) -> [String] {
  text.matches(of: /\]\(\.\.\/([^)#]+)(#[^)]*)?\)/).map { String($0.1) }
}

/// The names between backticks.
func names(in cell: String) -> [String] { cell.matches(of: /`([A-Za-z]+)`/).map { String($0.1) } }

/// The table whose titles begin like this: the titles, the place of the first row, and the cells of
/// all rows.
func rows(
  of titles: String, in article: [Substring], at path: String
) -> (titles: [String], first: Int, rows: [[String]]) {
  func cells(_ line: Substring) -> [String] {
    line.dropFirst().dropLast().split(separator: "|", omittingEmptySubsequences: false)
      .map { $0.trimmingCharacters(in: .whitespaces) }
  }
  guard let head = article.firstIndex(where: { $0.hasPrefix(titles) }) else {
    fail("\(path) has no table that begins with \"\(titles)\"")
  }
  return (cells(article[head]), head + 2, article[(head + 2)...].prefix { $0.hasPrefix("|") }.map(cells))
}

/// What is counted of each target.
func countedTargets() -> [String: Sizes] {
  var counted: [String: Sizes] = [:]
  for target in ((try? FileManager.default.contentsOfDirectory(atPath: sources)) ?? []) {
    let sizes = Sizes(of: target)
    if !sizes.files.isEmpty { counted[target] = sizes }
  }
  return counted
}

/// Compares the table with the counts, or writes them into it: the public symbols if these are
/// given, or else all other columns. Returns what differs.
func checkTable(_ counted: [String: Sizes], symbols: [String: Int]?, writes: Bool) -> [String] {
  var article = lines(of: read(table))
  let (titles, first, rows) = rows(of: "| library | what it is |", in: article, at: table)
  for column in Column.allCases where !titles.contains(column.rawValue) {
    fail("the table in \(table) has no column \"\(column.rawValue)\"")
  }
  guard let standsOn = titles.firstIndex(of: "stands on") else {
    fail("the table in \(table) has no column \"stands on\"")
  }

  let order = rows.compactMap { names(in: $0[0]).first }
  var differences: [String] = []
  let unlisted = counted.keys.filter { !order.contains($0) }.sorted()
  if symbols == nil { differences += unlisted.map { "\($0): has no row in the table" } }

  var all = Sizes()
  for target in order { all.add(counted[target] ?? Sizes()) }
  for (index, row) in rows.enumerated() {
    guard row.count == titles.count else { fail("a row of the table in \(table) has \(row.count) cells: \(row[0])") }
    let target = names(in: row[0]).first
    guard let sizes = target.map({ counted[$0] }) ?? all else {
      differences.append("\(row[0]): there is no such folder in \(sources)")
      continue
    }
    var row = row
    for column in Column.allCases where (column == .symbols) == (symbols != nil) {
      let place = titles.firstIndex(of: column.rawValue)!
      let symbols = target.map { symbols?[$0] } ?? symbols?.values.reduce(0, +)
      guard let count = column.count(sizes, symbols: symbols) else { continue }
      let written = number(in: row[place])
      let isMissing = linkedPaths(in: row[place]).contains { !FileManager.default.fileExists(atPath: $0) }
      if writes {
        row[place] = column.text(count, sizes)
      } else if written.map({ abs($0 - count) > max(column.slack, $0 / 10) }) ?? true {
        differences.append("\(target ?? "all"): \(column.rawValue): the table says \(row[place]), counted are \(count)")
      } else if isMissing {
        differences.append("\(target ?? "all"): \(column.rawValue): \(row[place]) is no longer there")
      }
    }
    if let target, symbols == nil {
      let uses = (order + unlisted).filter { sizes.imports.contains($0) && $0 != target }
      if names(in: row[standsOn]).sorted() != uses.sorted() {
        let text = uses.isEmpty ? "" : uses.map { "`\($0)`" }.joined(separator: ", ")
        if writes {
          row[standsOn] = text
        } else {
          differences.append("\(target): stands on: the table says \(row[standsOn]), its files import \(text)")
        }
      }
    }
    article[first + index] = "| \(row.joined(separator: " | ")) |"
  }
  if writes {
    do {
      try (article.joined(separator: "\n") + "\n").write(toFile: table, atomically: true, encoding: .utf8)
    } catch {
      fail("\(table) cannot be written: \(error)")
    }
  }
  return differences
}

// MARK: - Words

/// Looks for each name of code in the table with the same row for each library. Returns those that
/// no library declares.
func checkNames(_ counted: [String: Sizes]) -> [String] {
  let declared = counted.values.reduce(into: Set<String>()) { $0.formUnion($1.declaredNames) }
  var differences: [String] = []
  for row in rows(of: "| | operation, composite |", in: lines(of: read(table)), at: table).rows {
    for code in row.flatMap({ $0.matches(of: /`([^`]+)`/).map(\.1) }) {
      // The last part before parameters or a closure, as in `step.on(queue)`.
      let parts = code.prefix { !"( {:".contains($0) }.split(separator: ".")
      if let name = parts.last, !declared.contains(String(name)) {
        differences.append("row \"\(row[0])\": no library declares `\(name)`")
      }
    }
  }
  return differences
}

/// Returns the terms that the glossary has twice.
func checkGlossary() -> [String] {
  var known: Set<String> = []
  return rows(of: "| term | meaning |", in: lines(of: read(glossary)), at: glossary).rows
    .flatMap { $0[0].components(separatedBy: ", ") }
    .filter { !known.insert($0).inserted }
    .map { "glossary: \"\($0)\" stands in it twice" }
}

// MARK: - The flows

/// A section of a page under "## Flows" that draws how something happens: a function and its file
/// in each line. A file is named as short as it can be found: `Composition.swift`,
/// `Engine/Workers.swift`.
struct Flow {
  let title: String
  /// The lines of the drawing that name a file.
  var steps: [(functions: [String], file: String)] = []

  static func all(in article: String) -> [Flow] {
    var flows: [Flow] = []
    var isInside = false
    var isDrawing = false
    for line in article.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("## ") { isInside = line == "## Flows" }
      guard isInside else { continue }
      if line.hasPrefix("### ") {
        flows.append(Flow(title: String(line.dropFirst(4))))
      } else if !flows.isEmpty {
        if line.hasPrefix("```") { isDrawing.toggle() }
        if isDrawing { flows[flows.count - 1].add(line) }
      }
    }
    return flows
  }

  mutating func add(_ line: Substring) {
    guard let file = line.firstMatch(of: /[A-Za-z+\/]+\.swift/) else { return }
    // What stands behind the file is what happens there.
    let functions = line[..<file.range.lowerBound].matches(of: /([A-Za-z]+)\(/).map { String($0.1) }
    steps.append((functions, String(file.0)))
  }

  static let maxFileCount = 10

  /// What is wrong with it.
  ///
  /// - Parameter sourceFiles: the paths of all files of Swift.
  func differences(_ sourceFiles: [String]) -> [String] {
    var differences: [String] = []
    func add(_ text: String) { differences.append("flow \"\(title)\": \(text)") }

    if steps.isEmpty { add("it has no drawing, of lines with a function and its file") }
    let files = Set(steps.map(\.file))
    if files.count > Self.maxFileCount { add("it passes \(files.count) files, more than \(Self.maxFileCount)") }
    for file in files.sorted() {
      let paths = sourceFiles.filter { $0.hasSuffix("/\(file)") }
      guard paths.count == 1 else {
        add(paths.isEmpty ? "\(file) is not there" : "\(file) is one of \(paths.joined(separator: ", "))")
        continue
      }
      let source = read(paths[0])
      for step in steps where step.file == file {
        for function in step.functions {
          let declarations = ["func \(function)(", "func \(function)<"]
          if !declarations.contains(where: source.contains) { add("\(file) has no function \(function)") }
        }
        if step.functions.isEmpty { add("a line with \(file) names no function") }
      }
    }
    return differences
  }
}

/// Checks the flows of all pages about the inside.
func checkFlows(_ counted: [String: Sizes]) -> [String] {
  let pages = ((try? FileManager.default.contentsOfDirectory(atPath: internals)) ?? []).sorted()
  let all = pages.filter { $0.hasSuffix(".md") }.flatMap { Flow.all(in: read("\(internals)/\($0)")) }
  let sourceFiles = counted.values.flatMap(\.files).map { "\(sources)/\($0.path)" }.sorted()
  var differences = all.flatMap { $0.differences(sourceFiles) }
  if all.count != 5 { differences.append("\(internals) has \(all.count) flows under \"## Flows\", not 5") }
  return differences
}

// MARK: - The check

var arguments = Array(CommandLine.arguments.dropFirst())
var writes = false
var symbols: [String: Int]?
while let argument = arguments.first {
  arguments.removeFirst()
  switch argument {
  case "--write":
    writes = true
  case "--symbols":
    guard let path = arguments.first else { fail("--symbols needs a file") }
    arguments.removeFirst()
    symbols = [:]
    for line in lines(of: read(path)) {
      let parts = line.split(separator: " ")
      guard parts.count == 2, let count = Int(parts[1]) else {
        fail("\(path): this is no library and a number: \(line)")
      }
      symbols?[String(parts[0])] = count
    }
  default:
    fail("USAGE: check-sizes [--write] [--symbols FILE]")
  }
}

let counted = countedTargets()
let sizes = checkTable(counted, symbols: symbols, writes: writes)
// `check-api` only asks for the symbols.
let words = symbols == nil ? checkNames(counted) + checkGlossary() : []
let drawings = symbols == nil ? checkFlows(counted) : []
for difference in sizes + words + drawings { print(difference) }
if !sizes.isEmpty {
  print(
    symbols == nil
      ? "Sizes in \(table) differ. Write them with `Tests/Scripts/check-sizes --write`; a new library needs a row first."
      : "Public symbols in \(table) differ. Write them with `Tests/Scripts/check-api --write-sizes`.")
}
if !words.isEmpty {
  print("Write the names in \(table) as the libraries have them, and each term of \(glossary) once.")
}
if !drawings.isEmpty { print("Draw the flows in \(internals) as the code is now; a flow passes at most ten files.") }
if !(sizes + words + drawings).isEmpty { exit(1) }
if writes {
  print("sizes written into \(table)")
} else if symbols == nil {
  print("\(table) and the flows in \(internals) say what the sources do")
} else {
  print("the public symbols in \(table) are those of the libraries")
}
