// Finds which folders of a target use which others, and whether that makes layers.
// Tests/Scripts/check-layers says how to use it.
// USAGE: check-layers INDEX OVERVIEW.md TARGET…

import Foundation

func fail(_ message: String) -> Never {
  fflush(nil)
  FileHandle.standardError.write(Data("check-layers: \(message)\n".utf8))
  exit(2)
}

extension indexstore_string_ref_t {
  var string: String {
    String(decoding: UnsafeRawBufferPointer(start: data, count: length), as: UTF8.self)
  }
}

// MARK: - What the compiler knows

/// A file of a target, as the compiler has indexed it.
struct IndexedFile {
  let record: String
  let seconds: Double
}

/// A name in a file: one that is declared there, or one that is used.
struct Occurrence {
  let symbol: String
  let name: String
  let isType: Bool
  let container: String?
  let line: Int
  /// Where it begins in its line, in bytes from 1.
  let column: Int
  let isDefinition: Bool
}

/// The role of a name in a place, as bits, and the kinds of names that are types.
enum Role {
  static let types: [UInt32] = [5, 6, 7, 8, 11]
  static let definition: UInt64 = 1 << 1
  static let reference: UInt64 = 1 << 2
  static let implicit: UInt64 = 1 << 8
  static let childOf: UInt64 = 1 << 9
}

/// The index of names that a debug build writes, in the `index/store` beside its products.
struct Index {
  private let store: UnsafeMutableRawPointer

  init(at path: String) {
    guard let store = indexstore_store_create(path, nil) else {
      fail("there is no index in \(path); run `swift build` first")
    }
    self.store = store
  }

  /// The latest record of each file below a folder.
  func files(below folder: String) -> [String: IndexedFile] {
    var names: [String] = []
    withUnsafeMutablePointer(to: &names) {
      _ = indexstore_store_units_apply_f(store, 0, $0) { context, name in
        context!.assumingMemoryBound(to: [String].self).pointee.append(name.string)
        return true
      }
    }
    var files: [String: IndexedFile] = [:]
    for name in names {
      guard let unit = indexstore_unit_reader_create(store, name, nil) else { continue }
      defer { indexstore_unit_reader_dispose(unit) }
      let path = indexstore_unit_reader_get_main_file(unit).string
      guard path.hasPrefix(folder) else { continue }
      var seconds: Int64 = 0
      var nanoseconds: Int64 = 0
      indexstore_unit_reader_get_modification_time(unit, &seconds, &nanoseconds)
      let written = Double(seconds) + Double(nanoseconds) / 1e9
      guard files[path].map({ $0.seconds < written }) ?? true else { continue }
      // A unit also names the records of the modules that its file imports.
      var search = (path: path, record: "")
      withUnsafeMutablePointer(to: &search) {
        _ = indexstore_unit_reader_dependencies_apply_f(unit, $0) { context, dependency in
          let search = context!.assumingMemoryBound(to: (path: String, record: String).self)
          guard indexstore_unit_dependency_get_kind(dependency) == 2,
            indexstore_unit_dependency_get_filepath(dependency).string == search.pointee.path
          else { return true }
          search.pointee.record = indexstore_unit_dependency_get_name(dependency).string
          return false
        }
      }
      files[path] = IndexedFile(record: search.record, seconds: written)
    }
    return files
  }

  /// The names in a record. A file without any has no record.
  func occurrences(in record: String) -> [Occurrence] {
    guard let reader = indexstore_record_reader_create(store, record, nil) else { return [] }
    defer { indexstore_record_reader_dispose(reader) }
    var occurrences: [Occurrence] = []
    withUnsafeMutablePointer(to: &occurrences) {
      _ = indexstore_record_reader_occurrences_apply_f(reader, $0) { context, occurrence in
        let roles = indexstore_occurrence_get_roles(occurrence)
        guard roles & (Role.definition | Role.reference) != 0,
          roles & Role.implicit == 0 || roles & Role.definition != 0,
          let symbol = indexstore_occurrence_get_symbol(occurrence)
        else {
          return true
        }
        var container: String?
        if roles & Role.definition != 0 {
          withUnsafeMutablePointer(to: &container) {
            _ = indexstore_occurrence_relations_apply_f(occurrence, $0) { context, relation in
              guard indexstore_symbol_relation_get_roles(relation) & Role.childOf != 0 else { return true }
              context!.assumingMemoryBound(to: String?.self).pointee =
                indexstore_symbol_get_name(indexstore_symbol_relation_get_symbol(relation)).string
              return false
            }
          }
        }
        var line: UInt32 = 0
        var column: UInt32 = 0
        indexstore_occurrence_get_line_col(occurrence, &line, &column)
        context!.assumingMemoryBound(to: [Occurrence].self).pointee.append(
          Occurrence(
            symbol: indexstore_symbol_get_usr(symbol).string, name: indexstore_symbol_get_name(symbol).string,
            isType: Role.types.contains(indexstore_symbol_get_kind(symbol)), container: container, line: Int(line),
            column: Int(column), isDefinition: roles & Role.definition != 0))
        return true
      }
    }
    return occurrences
  }
}

extension Occurrence {
  /// Whether a type only qualifies another name: in `extension Queue {`, in the name `Queue.Place`
  /// of a nested type, and before a member, as in `Queue.standard`. The qualified name counts by
  /// itself.
  func isNamespace(in lines: [Data]) -> Bool {
    guard isType, line <= lines.count else { return false }
    let text = lines[line - 1]
    if text.prefix(column - 1).suffix(10) == Data("extension ".utf8) { return true }
    let rest = text.dropFirst(column - 1 + name.utf8.count)
    guard rest.first == UInt8(ascii: ".") else { return false }
    return !["self", "Type"].contains { rest.dropFirst().starts(with: $0.utf8) }
  }
}

// MARK: - Which folder uses which

/// A name that is used in a folder other than the one that declares it. Places are relative to the
/// target.
struct Use: Hashable {
  let file: String
  let line: Int
  let name: String
  let declaredIn: String
}

/// The folders of a target, and the names that they use of each other.
struct Target {
  /// The name for the files that are in no folder.
  static let root = "."

  let name: String
  let folders: [String]
  /// The uses of the second folder's names in the first; each name once for each file.
  let uses: [String: [String: [Use]]]

  init(_ name: String, sources: String, index: Index) {
    let path = "\(sources)/\(name)/"
    var files: [String] = []
    for case let file as String in FileManager.default.enumerator(atPath: path) ?? .init()
    where file.hasSuffix(".swift") {
      files.append(file)
    }
    guard !files.isEmpty else { fail("there is no file of Swift in Sources/\(name)") }
    files.sort()

    let indexed = index.files(below: path)
    var occurrences: [String: [Occurrence]] = [:]
    var declarations: [String: (file: String, name: String)] = [:]
    for file in files {
      let changed = try? FileManager.default.attributesOfItem(atPath: path + file)[.modificationDate] as? Date
      guard let entry = indexed[path + file], entry.seconds >= changed?.timeIntervalSince1970 ?? 0 else {
        fail("Sources/\(name)/\(file) is not in the index as it is; run `swift build` first")
      }
      occurrences[file] = index.occurrences(in: entry.record)
      for each in occurrences[file]! where each.isDefinition {
        declarations[each.symbol] = (file, each.container.map { "\($0).\(each.name)" } ?? each.name)
      }
    }

    var uses: [String: [String: [Use]]] = [:]
    for file in files {
      var known: Set<String> = []
      let lines = try! Data(contentsOf: URL(filePath: path + file)).split(
        separator: 0x0A, omittingEmptySubsequences: false)
      for each in occurrences[file]! where !each.isDefinition {
        guard let declaration = declarations[each.symbol] else { continue }
        let (user, owner) = (Self.folder(of: file), Self.folder(of: declaration.file))
        guard user != owner, !each.isNamespace(in: lines), known.insert(each.symbol).inserted else { continue }
        uses[user, default: [:]][owner, default: []].append(
          Use(file: file, line: each.line, name: declaration.name, declaredIn: declaration.file))
      }
    }
    self.name = name
    self.folders = Set(files.map(Self.folder)).sorted()
    self.uses = uses
  }

  private static func folder(of file: String) -> String {
    file.contains("/") ? String(file[..<file.lastIndex(of: "/")!]) : root
  }

  /// How many names one folder uses of another. The target's own files count as users of all
  /// folders, so that whatever uses them makes a cycle.
  func count(_ user: String, of owner: String) -> Int {
    let count = uses[user]?[owner]?.count ?? 0
    return user == Self.root && owner != Self.root ? max(count, 1) : count
  }
}

// MARK: - Layers

extension Target {
  /// The folders, the lowest first, in groups: each uses only those before it. A group of several
  /// is a cycle.
  func layers() -> [[String]] {
    // Which folders each reaches, directly or through others.
    var reached = Dictionary(
      uniqueKeysWithValues: folders.map { user in (user, Set(folders.filter { count(user, of: $0) > 0 })) })
    for middle in folders {
      for user in folders where reached[user]!.contains(middle) { reached[user]!.formUnion(reached[middle]!) }
    }
    var groups: [[String]] = []
    for folder in folders where !groups.contains(where: { $0.contains(folder) }) {
      groups.append(
        [folder] + folders.filter { $0 != folder && reached[folder]!.contains($0) && reached[$0]!.contains(folder) })
    }
    // A folder that reaches more is higher.
    return groups.sorted { left, right in
      let (low, high) = (reached[left[0]]!.subtracting(left).count, reached[right[0]]!.subtracting(right).count)
      return low == high ? left[0] < right[0] : low < high
    }
  }

  /// The order of the folders of a cycle in which the fewest names are used from below. The files
  /// that are in none come last. It finds the best order of each set of folders that may be the
  /// lowest, from the smaller sets to the larger ones.
  func bestOrder(of cycle: [String]) -> [String] {
    if cycle.contains(Self.root) { return bestOrder(of: cycle.filter { $0 != Self.root }) + [Self.root] }
    guard cycle.count <= 18 else { return cycle }
    let counts = cycle.map { user in cycle.map { count(user, of: $0) } }
    var costs = [Int](repeating: .max, count: 1 << cycle.count)
    var highest = [Int](repeating: 0, count: costs.count)
    costs[0] = 0
    for set in 1..<costs.count {
      for top in cycle.indices where set & (1 << top) != 0 {
        let below = set ^ (1 << top)
        var cost = costs[below]
        for user in cycle.indices where below & (1 << user) != 0 { cost += counts[user][top] }
        if cost < costs[set] { (costs[set], highest[set]) = (cost, top) }
      }
    }
    var order: [String] = []
    var set = costs.count - 1
    while set != 0 {
      order.append(cycle[highest[set]])
      set ^= 1 << highest[set]
    }
    return order.reversed()
  }

  /// The shortest way from a folder to another one by uses, within a cycle.
  func way(from start: String, to end: String, in cycle: [String]) -> [String] {
    var ways = [[start]]
    var seen: Set = [start]
    while !ways.isEmpty {
      let way = ways.removeFirst()
      if way.last == end { return way }
      for next in cycle where count(way.last!, of: next) > 0 && seen.insert(next).inserted { ways.append(way + [next]) }
    }
    return []
  }

  func title(_ folder: String) -> String {
    folder == Self.root ? "the files beside the folders" : folder
  }

  /// Prints the names that are used in a folder below theirs.
  func printUses(from user: String, of owner: String) {
    print("  \(title(user)) uses \(title(owner)):")
    for use in uses[user]?[owner] ?? [] {
      print("    \(use.file):\(use.line) → \(use.name), declared in \(use.declaredIn)")
    }
  }

  /// Prints a cycle: its folders, and the uses to remove to break it.
  func printCycle(_ cycle: [String]) {
    let order = bestOrder(of: cycle)
    print("Sources/\(name): a cycle of \(cycle.count) folders. From the lowest to the highest these would be")
    print("  \(order.map(title).joined(separator: ", "))")
    print("were it not for these names, each of which is used in a folder below its own:")
    for (place, user) in order.enumerated() {
      for owner in order[(place + 1)...] where count(user, of: owner) > 0 {
        printUses(from: user, of: owner)
        let way = way(from: owner, to: user, in: cycle)
        for (from, to) in zip(way, way.dropFirst()) {
          guard let uses = uses[from]?[to], let first = uses.first else { continue }
          print(
            "      while \(title(from)) uses \(title(to)): \(uses.count) \(uses.count == 1 ? "name" : "names"), as in "
              + "\(first.file):\(first.line) → \(first.name)")
        }
      }
    }
  }

  /// Prints what is wrong with the order in the article. Returns false if anything is.
  func agrees(with overview: String) -> Bool {
    let order = layers().flatMap { $0 }.filter { $0 != Self.root }
    guard order.count > 1 else { return true }
    let start = "| `\(name)` | "
    let line = "\(start)\(order.joined(separator: ", ")) |"
    guard let documented = overview.split(separator: "\n").first(where: { $0.hasPrefix(start) }) else {
      print("Sources/\(name): the order of its folders is missing in \(CommandLine.arguments[2]). It is")
      print("  \(line)")
      return false
    }
    let places = documented.dropFirst(start.count).dropLast(2).components(separatedBy: ", ")
    guard places.sorted() == order.sorted() else {
      print("Sources/\(name): in \(CommandLine.arguments[2]) stand other folders than there are. Its line should be")
      print("  \(line)")
      return false
    }
    var agrees = true
    for (place, user) in places.enumerated() {
      for owner in places[(place + 1)...] where count(user, of: owner) > 0 {
        if agrees {
          print("Sources/\(name): folders use others that stand above them in \(CommandLine.arguments[2]):")
        }
        agrees = false
        printUses(from: user, of: owner)
      }
    }
    if !agrees { print("Its line could be\n  \(line)") }
    return agrees
  }
}

guard CommandLine.arguments.count > 3 else { fail("USAGE: check-layers INDEX OVERVIEW.md TARGET…") }
let index = Index(at: CommandLine.arguments[1])
guard let overview = try? String(contentsOfFile: CommandLine.arguments[2], encoding: .utf8) else {
  fail("\(CommandLine.arguments[2]) can not be read")
}
let sources = FileManager.default.currentDirectoryPath + "/Sources"
var broken = 0
var folders = 0
let names = CommandLine.arguments.dropFirst(3)
for name in names {
  let target = Target(name, sources: sources, index: index)
  folders += target.folders.count
  let cycles = target.layers().filter { $0.count > 1 }
  cycles.forEach(target.printCycle)
  if !cycles.isEmpty || !target.agrees(with: overview) { broken += 1 }
}
guard broken == 0 else {
  fflush(nil)
  FileHandle.standardError.write(Data("the folders of \(broken) of \(names.count) targets are not in layers\n".utf8))
  exit(1)
}
print("the \(folders) folders of \(names.count) targets are in layers")
