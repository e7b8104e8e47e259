import Foundation

// Reads the files of Tests/Mutations, and puts all mutations into a copy of the sources:
//
//   check-mutations list FILE…          prints NUMBER, LIMIT, NAME, TESTS and RULE of each, with tabs between
//   check-mutations apply FOLDER FILE…  changes the sources in FOLDER, and adds the file that says which mutation is on
//
// The format is described in Tests/Scripts/check-mutations. Ends with 2 if a file is not in it, and
// with 1 if lines of a mutation are not found in the sources.

struct Hunk {
  /// Where it stands.
  let place: String
  /// Below Sources/CompositeOperations.
  let file: String
  var old: [Substring] = []
  var new: [Substring] = []
}

struct Mutation {
  let place: String
  let rule: String
  var name = ""
  var tests: [String] = []
  var limit = "40"
  var hunks: [Hunk] = []
}

func fail(_ message: String, _ status: Int32 = 2) -> Never {
  FileHandle.standardError.write(Data("check-mutations: \(message)\n".utf8))
  exit(status)
}

// MARK: - Reading

func mutations(in path: String) -> [Mutation] {
  guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { fail("\(path) cannot be read") }
  var mutations: [Mutation] = []
  var file: String?
  var hunk: Hunk?

  func endHunk(_ place: String) {
    guard let ended = hunk else { return }
    if ended.old.isEmpty { fail("\(ended.place): a change needs a line with '-' or ' ', so that its place is known") }
    if ended.old == ended.new { fail("\(ended.place): a change needs a line with '-' or '+'") }
    mutations[mutations.count - 1].hunks.append(ended)
    hunk = nil
  }

  for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
    let place = "\(path):\(index + 1)"
    if let sign = line.first, "+- ".contains(sign) {
      guard let file else { fail("\(place): which file is this line of? Say 'file: …' before") }
      if hunk == nil { hunk = Hunk(place: place, file: file) }
      if sign != "+" { hunk?.old.append(line.dropFirst()) }
      if sign != "-" { hunk?.new.append(line.dropFirst()) }
      continue
    }
    endHunk(place)
    if line.hasPrefix("## ") {
      mutations.append(Mutation(place: place, rule: String(line.dropFirst(3))))
      file = nil
      continue
    }
    if line.isEmpty || line.hasPrefix("#") { continue }
    guard let colon = line.firstRange(of: ": "), let last = mutations.indices.last else {
      fail("\(place): this is neither a line of a mutation nor a comment")
    }
    let value = String(line[colon.upperBound...])
    switch line[..<colon.lowerBound] {
    case "name": mutations[last].name = value
    case "tests": mutations[last].tests.append(value)
    case "limit": mutations[last].limit = value
    case "file": file = value
    default: fail("\(place): a mutation has name, tests, limit and file; not this")
    }
  }
  endHunk("\(path): end")
  return mutations
}

func check(_ mutations: [Mutation]) {
  var names: Set<String> = []
  for mutation in mutations {
    let switched = "mutated(\"\(mutation.name)\")"
    if mutation.name.wholeMatch(of: /[a-z0-9]+(-[a-z0-9]+)*/) == nil {
      fail("\(mutation.place): the name of a mutation is of small letters, digits and '-'")
    }
    if !names.insert(mutation.name).inserted { fail("\(mutation.place): another mutation is called \(mutation.name)") }
    if mutation.tests.isEmpty { fail("\(mutation.place): which tests notice it?") }
    if mutation.limit.wholeMatch(of: /[1-9][0-9]*/) == nil { fail("\(mutation.place): its limit is no number") }
    if !mutation.hunks.contains(where: { $0.new.contains { $0.contains(switched) } }) {
      fail("\(mutation.place): no line with '+' has \(switched)")
    }
  }
  for hunk in mutations.flatMap(\.hunks) {
    for match in hunk.new.joined(separator: "\n").matches(of: /mutated\("([^"]*)"\)/) {
      if !names.contains(String(match.1)) { fail("\(hunk.place): there is no mutation called \(match.1)") }
    }
  }
}

// MARK: - Changing the sources

/// The places where the lines of a change stand.
func places(of old: [Substring], in lines: [Substring]) -> [Int] {
  guard lines.count >= old.count else { return [] }
  return (0...(lines.count - old.count)).filter { lines[$0..<($0 + old.count)].elementsEqual(old) }
}

func apply(_ mutations: [Mutation], to folder: String) throws {
  var failures = 0
  var texts: [String: [Substring]] = [:]
  for mutation in mutations {
    for hunk in mutation.hunks {
      let path = "\(folder)/\(hunk.file)"
      if texts[path] == nil {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
          fail("\(hunk.place): there is no file \(hunk.file) in Sources/CompositeOperations", 1)
        }
        texts[path] = text.split(separator: "\n", omittingEmptySubsequences: false)
      }
      let found = places(of: hunk.old, in: texts[path] ?? [])
      guard found.count == 1 else {
        let lines = hunk.old.map { "    \($0)\n" }.joined()
        let message = """
          \(hunk.place): \(mutation.name): Sources/CompositeOperations/\(hunk.file) has these lines \
          \(found.count) times, not once:
          \(lines)
          """
        FileHandle.standardError.write(Data(message.utf8))
        failures += 1
        continue
      }
      texts[path]?.replaceSubrange(found[0]..<(found[0] + hunk.old.count), with: hunk.new)
    }
  }
  if failures > 0 {
    fail(
      """
      the sources have moved on. Write the lines with '-' and ' ' as they stand in the sources now, changed by the mutations \
      before in these files; or, if what a mutation breaks is gone, remove it.
      """, 1)
  }
  let numbers = Dictionary(uniqueKeysWithValues: mutations.enumerated().map { ($1.name, $0 + 1) })
  for (path, lines) in texts {
    // Numbers are compared faster than names, and this is done on hot paths.
    let text = lines.joined(separator: "\n").replacing(/mutated\("([^"]*)"\)/) { match in
      "mutated(\(numbers[String(match.1)]!))"
    }
    try text.write(toFile: path, atomically: true, encoding: .utf8)
  }
  let names = numbers.sorted { $0.value < $1.value }.map { "  \"\($0.key)\": \($0.value),\n" }.joined()
  let source = """
    import Foundation

    private let numbers = [
    \(names)]

    /// The mutation that is on; 0 if none is.
    private let number: Int = {
      guard let name = ProcessInfo.processInfo.environment["MUTATION"] else { return 0 }
      guard let number = numbers[name] else { fatalError("There is no mutation called \\(name)") }
      return number
    }()

    @inline(__always)
    func mutated(_ mutation: Int) -> Bool { number == mutation }

    """
  try source.write(toFile: "\(folder)/Mutation.swift", atomically: true, encoding: .utf8)
}

// MARK: - Main

let arguments = CommandLine.arguments.dropFirst()
guard let task = arguments.first else { fail("say what to do") }
let isApplied = task == "apply"
let all = arguments.dropFirst(isApplied ? 2 : 1).flatMap(mutations)
check(all)
if isApplied {
  try apply(all, to: arguments[arguments.startIndex + 1])
} else {
  for (index, mutation) in all.enumerated() {
    let tests = mutation.tests.joined(separator: "|")
    print("\(index + 1)", mutation.limit, mutation.name, tests, mutation.rule, separator: "\t")
  }
}
