// Turns the articles of the DocC catalogues into plain Markdown, and back.
// Tests/Scripts/make-documentation says how to use it.
//
// Each line of an article becomes one line. What differs:
//
//   in a catalogue                                       in Documentation
//   ``Outcome/value``                                    `value`
//   [`outcome.value`](doc:Outcome/value)                 `outcome.value`
//   <doc:Policies>                                       [Policies](Policies.md)
//   [timeout](doc:Policies#Timeouts)                     [timeout](Policies.md#timeouts)
//   [timeout](/documentation/LIBRARY/policies#Timeouts)  the same, from the catalogue of another library
//   `Examples/Outbox`, a path in the repository          [`Examples/Outbox`](../Examples/Outbox)
//   ![A page](page.png)                                  ![A page](Images/page.png), and a copy of the image
//   @Metadata { … }                                      nothing

import Foundation

/// What is in Documentation without a source in a catalogue. ForReadersOfTheSource.md, README.md,
/// the index, and the pages in Internals are written by hand and are about all libraries;
/// Benchmarks.md is written by the benchmarks.
let withoutSource: Set = ["Benchmarks.md", "ForReadersOfTheSource.md", "README.md"]

/// Whether a path in Documentation is that of a page without a source.
func isWithoutSource(_ path: String) -> Bool { withoutSource.contains(path) || path.hasPrefix("Internals/") }

struct Failure: Error {
  let message: String
}

// MARK: - Articles

/// Follows which lines of a file are inside of a fenced block of code.
struct Fences {
  private var fence = ""

  /// Whether the next line is code, or begins or ends some.
  mutating func isCode(_ line: String) -> Bool {
    let text = line.drop { $0 == " " }
    if !fence.isEmpty {
      if text.hasPrefix(fence), text.allSatisfy({ $0 == "`" }) { fence = "" }
      return true
    }
    fence = text.hasPrefix("```") ? String(text.prefix { $0 == "`" }) : ""
    return !fence.isEmpty
  }
}

struct Heading {
  /// The text without its markup.
  let text: String
  /// The fragment of a link to it in Markdown as GitHub shows it.
  let anchor: String

  /// The fragment of a link to it in DocC.
  var fragment: String {
    text.filter { !$0.isPunctuation || "-–—".contains($0) }
      .split { $0.isWhitespace || "-–—".contains($0) }.joined(separator: "-")
  }

  static func all(in lines: [String]) -> [Heading] {
    var fences = Fences()
    var counts: [String: Int] = [:]
    var headings: [Heading] = []
    for line in lines where !fences.isCode(line) && line.hasPrefix("#") {
      let marks = line.prefix { $0 == "#" }
      let text = line.dropFirst(marks.count).trimmingCharacters(in: .whitespaces)
        .replacingOccurrences(of: "`", with: "")
      let kept = text.lowercased().filter { $0.isLetter || $0.isNumber || " -_".contains($0) }
      let anchor = kept.replacingOccurrences(of: " ", with: "-")
      let count = counts[anchor, default: 0]
      counts[anchor] = count + 1
      headings.append(Heading(text: text, anchor: count == 0 ? anchor : "\(anchor)-\(count)"))
    }
    return headings
  }
}

struct Article {
  let name: String
  let library: String
  let folder: String
  let lines: [String]
  let headings: [Heading]

  var path: String { "\(folder)/\(name).md" }
  var title: String { headings.first?.text ?? name }

  init(name: String, library: String, folder: String, lines: [String]) {
    self.name = name
    self.library = library
    self.folder = folder
    self.lines = lines
    headings = Heading.all(in: lines)
  }

  /// The heading that a fragment of either kind means.
  func heading(_ fragment: String) -> Heading? {
    let wanted = fragment.removingPercentEncoding ?? fragment
    return headings.first { $0.fragment == wanted || $0.anchor == wanted }
  }
}

let files = FileManager.default

func lines(of path: String) throws -> [String] {
  try String(contentsOfFile: path, encoding: .utf8).components(separatedBy: "\n")
}

func catalogue(of library: String) -> String { "Sources/\(library)/\(library).docc" }

/// The libraries that have a catalogue, sorted.
func libraries() throws -> [String] {
  try files.contentsOfDirectory(atPath: "Sources").filter { files.fileExists(atPath: catalogue(of: $0)) }.sorted()
}

func articles() throws -> [Article] {
  var articles: [Article] = []
  for library in try libraries() {
    let catalogue = catalogue(of: library)
    for path in try files.subpathsOfDirectory(atPath: catalogue).sorted() where path.hasSuffix(".md") {
      let file = "\(catalogue)/\(path)"
      let lines = try lines(of: file)
      // A page whose title is a symbol belongs to that symbol.
      guard let title = lines.first, title.hasPrefix("# ") else {
        throw Failure(message: "\(file):1: does not begin with its title, which DocC asks for")
      }
      if title.hasPrefix("# ``") { continue }
      let url = URL(filePath: file)
      articles.append(
        Article(
          name: url.deletingPathExtension().lastPathComponent, library: library,
          folder: (file as NSString).deletingLastPathComponent, lines: lines))
    }
  }
  for (name, same) in Dictionary(grouping: articles, by: \.name) where same.count > 1 {
    throw Failure(message: "\(same.map(\.path).joined(separator: ", ")): two articles cannot be called \(name)")
  }
  return articles
}

// MARK: - Lines

/// What becomes of a link: its new destination, or only its text remains, followed by more.
enum Destination {
  case link(String)
  case text(followedBy: String)
}

/// Rewrites the links and the inline code of a line.
struct LineRewriter {
  /// Given the destination of `[text](destination)` and its text if that begins in the same line.
  let link: (_ destination: String, _ text: String?) throws -> Destination
  /// Given the destination of `![text](destination)`.
  let image: (String) throws -> String
  /// Given the destination of `<destination>`; nil if it is no link.
  let shortLink: (String) throws -> String?
  /// Given inline code without its marks, of which there were `marks`.
  let code: (_ code: String, _ marks: Int, _ isInLink: Bool) throws -> String?

  func rewrite(_ line: String) throws -> String {
    var output = ""
    var rest = line[...]
    var openings: [(index: String.Index, isImage: Bool)] = []
    var last: Character = " "
    while let character = rest.first {
      defer { last = character }
      if character == "`" {
        let marks = rest.prefix { $0 == "`" }
        let behind = rest.dropFirst(marks.count)
        guard let end = behind.range(of: marks), behind[end.upperBound...].first != "`" else {
          output += marks
          rest = behind
          continue
        }
        let text = String(behind[..<end.lowerBound])
        output += try code(text, marks.count, !openings.isEmpty) ?? "\(marks)\(text)\(marks)"
        rest = behind[end.upperBound...]
        continue
      }
      if character == "<", let end = rest.firstIndex(of: ">"),
        let replaced = try shortLink(String(rest[rest.index(after: rest.startIndex)..<end]))
      {
        output += replaced
        rest = rest[rest.index(after: end)...]
        continue
      }
      if character == "[" { openings.append((output.endIndex, last == "!")) }
      if character == "]" {
        let opening = openings.popLast()
        if rest.dropFirst().first == "(", let end = closing(rest.dropFirst(2)) {
          let destination = String(rest.dropFirst(2)[..<end])
          let text = opening.map { String(output[output.index(after: $0.index)...]) }
          if let opening, opening.isImage {
            output += "](\(try image(destination)))"
          } else {
            switch try link(destination, text) {
            case .link(let replaced): output += "](\(replaced))"
            case .text(let more):
              guard let opening, let text else {
                throw Failure(message: "a link to \(destination) has to be in one line")
              }
              output.replaceSubrange(opening.index..., with: text + more)
            }
          }
          rest = rest[rest.index(after: end)...]
          continue
        }
      }
      output.append(character)
      rest = rest.dropFirst()
    }
    return output
  }

  /// The parenthesis that ends a destination; it may contain pairs of them.
  private func closing(_ text: Substring) -> Substring.Index? {
    var depth = 0
    for index in text.indices {
      switch text[index] {
      case "(": depth += 1
      case ")" where depth == 0: return index
      case ")": depth -= 1
      case " ": return nil
      default: break
      }
    }
    return nil
  }
}

/// Splits `path#fragment`.
func split(_ destination: String) -> (path: String, fragment: String?) {
  guard let mark = destination.firstIndex(of: "#") else { return (destination, nil) }
  return (String(destination[..<mark]), String(destination[destination.index(after: mark)...]))
}

func isWebAddress(_ destination: String) -> Bool {
  destination.hasPrefix("https://") || destination.hasPrefix("http://") || destination.hasPrefix("mailto:")
}

// MARK: - From a catalogue to Documentation

struct Generator {
  let articles: [Article]
  let libraries: [String]

  func header(of article: Article) -> [String] {
    ["<!-- Made from \(article.path) by Tests/Scripts/make-documentation. Edit that file. -->", ""]
  }

  /// The lines of the Markdown without its header, each with the number of the line that it was
  /// made from.
  func body(of article: Article) throws -> [(number: Int, text: String)] {
    let rewriter = LineRewriter(
      link: { destination, _ in try self.link(destination, from: article) },
      image: { "Images/\($0)" },
      shortLink: { destination in
        guard destination.hasPrefix("doc:") else { return nil }
        let (path, fragment) = split(destination)
        guard let target = self.target(path, from: article) else {
          throw Failure(message: "<\(destination)> is no article of \(article.library)")
        }
        guard case .link(let replaced) = try self.link(destination, from: article) else { return nil }
        return "[\(fragment.flatMap { target.heading($0)?.text } ?? target.title)](\(replaced))"
      },
      code: { text, marks, isInLink in
        if marks == 2 { return text.contains(" ") ? nil : "`\(symbol(text))`" }
        guard marks == 1, !isInLink, let path = pathFromDocumentation(text) else { return nil }
        return "[`\(text)`](\(path))"
      })

    var fences = Fences()
    var isDirective = false
    var body: [(number: Int, text: String)] = []
    for (index, line) in article.lines.enumerated() {
      if fences.isCode(line) {
        body.append((index, line))
      } else if isDirective || (line.first == "@" && line.hasSuffix("{")) {
        isDirective = line != "}"
      } else {
        do {
          body.append((index, line.hasPrefix("#") ? line : try rewriter.rewrite(line)))
        } catch let failure as Failure {
          throw Failure(message: "\(article.path):\(index + 1): \(failure.message)")
        }
      }
    }
    return body
  }

  /// The article that `doc:path` or `/documentation/library/path` means.
  private func target(_ path: String, from article: Article) -> Article? {
    if path == "doc:" { return article }
    if path.hasPrefix("doc:") {
      let name = path.dropFirst("doc:".count)
      return articles.first { $0.library == article.library && $0.name == name }
    }
    return articles.first { path == "/documentation/\($0.library)/\($0.name)".lowercased() }
  }

  private func link(_ destination: String, from article: Article) throws -> Destination {
    if isWebAddress(destination) { return .link(destination) }
    let (path, fragment) = split(destination)
    guard let target = target(path, from: article) else {
      // Of symbols only the text remains: Markdown has no page for them. DocC says if there is
      // none. What comes from another library is checked by Tests/Scripts/check-documentation.
      if path.hasPrefix("doc:") { return .text(followedBy: "") }
      guard libraries.contains(where: { "\(path)/".hasPrefix("/documentation/\($0.lowercased())/") }) else {
        throw Failure(
          message:
            "\(destination) is neither doc:…, nor /documentation/LIBRARY/…, nor an address of the web; a file of the "
            + "repository is linked by its path as code: `Examples/README.md`")
      }
      return .text(followedBy: "")
    }
    let file = target.name == article.name ? "" : "\(target.name).md"
    guard let fragment else { return .link(file.isEmpty ? "\(target.name).md" : file) }
    guard let heading = target.heading(fragment) else {
      throw Failure(message: "\(target.path) has no heading for #\(fragment)")
    }
    return .link("\(file)#\(heading.anchor)")
  }

  /// The name that DocC shows for a link to a symbol: that of a member alone, that of a nested type
  /// with the outer ones.
  private func symbol(_ path: String) -> String {
    var components = path.split(separator: "/").map(String.init)
    guard var last = components.popLast() else { return path }
    if let type = last.range(of: "->") ?? last.range(of: "-", options: .backwards), !last.hasPrefix("-") {
      last = String(last[..<type.lowerBound])
    }
    guard last.first?.isUppercase == true else { return last }
    return (components.filter { !libraries.contains($0) } + [last]).joined(separator: ".")
  }

  /// The path, from Documentation, of a file or folder whose path in the repository this is.
  private func pathFromDocumentation(_ path: String) -> String? {
    let folders = ["Documentation/", "Examples/", "Sources/", "Tests/"]
    let isPath = folders.contains { path.hasPrefix($0) } || (path.hasSuffix(".md") && !path.contains("/"))
    guard isPath, !path.contains(" "), files.fileExists(atPath: path) else { return nil }
    return path.hasPrefix(folders[0]) ? String(path.dropFirst(folders[0].count)) : "../\(path)"
  }

  func text(of article: Article) throws -> String {
    (header(of: article) + (try body(of: article)).map(\.text)).joined(separator: "\n")
  }

  /// All files of Documentation that are made, and what is in them.
  func output() throws -> [String: Data] {
    var output: [String: Data] = [:]
    for article in articles {
      output["Documentation/\(article.name).md"] = Data(try text(of: article).utf8)
    }
    for library in libraries {
      for file in try files.subpathsOfDirectory(atPath: catalogue(of: library)) {
        guard [".png", ".svg", ".jpg", ".gif"].contains(where: file.hasSuffix) else { continue }
        let path = "Documentation/Images/\((file as NSString).lastPathComponent)"
        output[path] = try Data(contentsOf: URL(filePath: "\(catalogue(of: library))/\(file)"))
      }
    }
    return output
  }
}

// MARK: - From Documentation to a catalogue

struct Importer {
  let generator: Generator
  var articles: [Article] { generator.articles }

  /// The article with the lines of a Markdown file. `old` is what the catalogue has now.
  func article(_ name: String, library: String, markdown: [String], old: Article?) throws -> Article {
    var markdown = markdown
    if markdown.first?.hasPrefix("<!-- Made from ") == true { markdown.removeFirst(markdown.count > 1 ? 2 : 1) }
    let folder = old?.folder ?? catalogue(of: library)
    let new = Article(name: name, library: library, folder: folder, lines: markdown)
    let others = articles.filter { $0.name != name }
    let rewriter = LineRewriter(
      link: { destination, text in try link(destination, text: text, from: new, others: others) },
      image: { $0.hasPrefix("Images/") ? String($0.dropFirst("Images/".count)) : $0 },
      shortLink: { _ in nil },
      code: { _, _, _ in nil })

    // Lines that are as the catalogue gives them stay as they are there, with links to symbols.
    let before = try old.map(generator.body) ?? []
    let difference = markdown.difference(from: before.map(\.text))
    var removed: Set<Int> = []
    var inserted: Set<Int> = []
    for change in difference {
      switch change {
      case .remove(let offset, _, _): removed.insert(offset)
      case .insert(let offset, _, _): inserted.insert(offset)
      }
    }
    var kept = before.indices.filter { !removed.contains($0) }[...]
    // What the catalogue has and Markdown has not, such as directives, stays before the line that
    // follows it.
    var next = 0
    let shown = Set(before.map(\.number))
    var fences = Fences()
    var result: [String] = []
    for (index, line) in markdown.enumerated() {
      let isCode = fences.isCode(line)
      if !inserted.contains(index), let position = kept.popFirst(), let old {
        let number = before[position].number
        result += (next..<number).filter { !shown.contains($0) }.map { old.lines[$0] }
        next = number + 1
        result.append(old.lines[number])
      } else {
        do {
          result.append(isCode ? line : try rewriter.rewrite(line))
        } catch let failure as Failure {
          throw Failure(message: "\(name).md:\(index + 1): \(failure.message)")
        }
      }
    }
    return Article(name: name, library: library, folder: folder, lines: result)
  }

  private func link(_ destination: String, text: String?, from article: Article, others: [Article]) throws
    -> Destination
  {
    if isWebAddress(destination) || destination.hasPrefix("doc:") || destination.hasPrefix("/") {
      return .link(destination)
    }
    let (path, fragment) = split(destination)
    let name = path.hasSuffix(".md") ? String(path.dropLast(".md".count)) : path
    if let target = path.isEmpty || name == article.name ? article : others.first(where: { $0.name == name }) {
      let place =
        target.library == article.library
        ? "doc:\(target.name == article.name ? "" : target.name)"
        : "/documentation/\(target.library)/\(target.name)".lowercased()
      guard let fragment else { return .link(place) }
      guard let heading = target.heading(fragment) else {
        throw Failure(message: "\(target.path) has no heading for #\(fragment)")
      }
      return .link("\(place)#\(heading.fragment)")
    }
    let file = path.hasPrefix("../") ? String(path.dropFirst("../".count)) : "Documentation/\(path)"
    guard files.fileExists(atPath: file) else { throw Failure(message: "\(destination) is nowhere") }
    guard file != "Documentation/\(path)" || isWithoutSource(path) else {
      throw Failure(message: "\(destination) is in no catalogue; import that one first")
    }
    return .text(followedBy: text == "`\(file)`" ? "" : " (`\(file)`)")
  }
}

// MARK: - The program

func importArticles(_ paths: [String], library: String?) throws {
  let present = try articles()
  let libraries = try libraries()
  var new: [Article] = []
  for path in paths {
    let name = URL(filePath: path).deletingPathExtension().lastPathComponent
    if present.contains(where: { $0.name == name }) { continue }
    guard let library, libraries.contains(library) else {
      throw Failure(message: "\(path): name the library, one of: \(libraries.joined(separator: ", "))")
    }
    new.append(Article(name: name, library: library, folder: catalogue(of: library), lines: try lines(of: path)))
  }
  // New articles may link to each other.
  let importer = Importer(generator: Generator(articles: present + new, libraries: libraries))
  for path in paths {
    let name = URL(filePath: path).deletingPathExtension().lastPathComponent
    let old = present.first { $0.name == name }
    guard let place = old ?? new.first(where: { $0.name == name }) else { continue }
    let article = try importer.article(name, library: place.library, markdown: lines(of: path), old: old)
    try article.lines.joined(separator: "\n").write(toFile: article.path, atomically: true, encoding: .utf8)
    print("\(article.path) has the text of \(path)")
  }
}

/// What is wrong with Documentation, other than that files of `output` are not up to date.
func complaints(_ articles: [Article], _ output: [String: Data]) throws -> [String] {
  var complaints: [String] = []
  for file in try files.contentsOfDirectory(atPath: "Documentation").sorted() where file.hasSuffix(".md") {
    let path = "Documentation/\(file)"
    if output[path] != nil || isWithoutSource(file) { continue }
    complaints.append(
      try lines(of: path).first?.hasPrefix("<!-- Made from ") == true
        ? "\(path): its source is gone; remove it"
        : "\(path): has no source; move it into a catalogue: make-documentation --import \(path) LIBRARY")
  }
  let index = try lines(of: "Documentation/README.md").joined(separator: "\n")
  for article in articles where !index.contains("(\(article.name).md") {
    complaints.append("Documentation/README.md: does not list \(article.name).md")
  }
  return complaints
}

func makeDocumentation(isCheck: Bool) throws -> Bool {
  let generator = Generator(articles: try articles(), libraries: try libraries())
  let output = try generator.output()
  var complaints = try complaints(generator.articles, output)
  for (path, data) in output.sorted(by: { $0.key < $1.key }) {
    if files.contents(atPath: path) == data { continue }
    if isCheck {
      complaints.append("\(path): is not what its source gives; Tests/Scripts/make-documentation writes it")
    } else {
      try files.createDirectory(atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
      try data.write(to: URL(filePath: path))
      print("\(path) is new")
    }
  }
  for complaint in complaints { print("error: \(complaint)") }
  if complaints.isEmpty { print("Documentation is what its sources give: \(generator.articles.count) articles") }
  return complaints.isEmpty
}

let arguments = Array(CommandLine.arguments.dropFirst())
do {
  let paths = arguments.filter { $0.hasSuffix(".md") }
  let others = arguments.dropFirst().filter { !$0.hasSuffix(".md") }
  switch arguments.first {
  case nil: exit(try makeDocumentation(isCheck: false) ? 0 : 1)
  case "--check" where arguments.count == 1: exit(try makeDocumentation(isCheck: true) ? 0 : 1)
  case "--import" where !paths.isEmpty && others.count <= 1: try importArticles(paths, library: others.first)
  default: throw Failure(message: "USAGE: make-documentation [--check | --import FILE… [LIBRARY]]")
  }
} catch let failure as Failure {
  print("error: \(failure.message)")
  exit(1)
}
