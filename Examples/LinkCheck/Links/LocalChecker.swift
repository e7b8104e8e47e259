import ExampleSupport
import Foundation

/// Checks links to files, folders and anchors.
struct LocalChecker: Sendable {
  let listings: FolderListings
  /// The names that links can point at, by the path of the page. Fragments of other pages are not
  /// checked.
  let anchors: [String: Set<String>]
  /// The paths of the pages whose anchors are not known, as they could not be read.
  let unreadable: Set<String>

  /// What a path of a link comes to in the file system.
  enum Resolution: Equatable, Sendable {
    case page(path: String)
    case folder(path: String)
    case nothing(reason: String)
  }

  static func resolve(_ path: String?, from file: SourceFile, in listings: FolderListings) -> Resolution {
    guard let path else { return .page(path: file.path) }
    let start = path.hasPrefix("/") ? file.root : FilePath.parent(of: file.path)
    // Steps are counted on the way, not only at the end: no link may leave the root, even if it
    // came back.
    var parts = FilePath.relative(start, to: file.root).split(separator: "/").filter { $0 != "." }
    for part in path.split(separator: "/") where part != "." {
      if part != ".." {
        parts.append(part)
      } else if parts.popLast() == nil {
        return .nothing(reason: "leads out of the root folder \(file.root)")
      }
    }
    switch listings.find(parts, from: file.root) {
    case .found(let found, .folder): return .folder(path: found)
    case .found(_, .file) where path.hasSuffix("/"): return .nothing(reason: "is a file, not a folder")
    case .found(let found, .file): return .page(path: found)
    case .notAFolder(let path):
      return .nothing(reason: "\(FilePath.relative(path, to: file.root)) is a file, not a folder")
    case .missing(let name, let folder, let nearest):
      return .nothing(reason: Self.missing(name, in: FilePath.relative(folder, to: file.root), nearest: nearest))
    }
  }

  private static func missing(_ name: String, in folder: String, nearest: String?) -> String {
    let place = folder == "." ? "" : " in \(folder)"
    guard let nearest else { return "no \(name)\(place)" }
    if nearest.lowercased() == name.lowercased() { return "no \(name)\(place), but \(nearest): mind the case" }
    return "no \(name)\(place); did you mean \(nearest)?"
  }

  /// The page whose anchors the link needs, if it needs any.
  static func pageWithAnchor(
    path: String?, fragment: String?, from file: SourceFile, in listings: FolderListings
  ) -> String? {
    guard let fragment, !isAlwaysThere(fragment) else { return nil }
    switch resolve(path, from: file, in: listings) {
    case .page(let path): return path
    case .folder(let path): return listings.indexPage(of: path)
    case .nothing: return nil
    }
  }

  func verdict(path: String?, fragment: String?, from file: SourceFile) -> Verdict {
    let page: String
    switch Self.resolve(path, from: file, in: listings) {
    case .nothing(let reason): return .broken(reason: reason)
    case .page(let path): page = path
    case .folder(let path):
      guard let fragment, !Self.isAlwaysThere(fragment) else { return .good() }
      guard let index = listings.indexPage(of: path) else {
        return .broken(reason: "no #\(fragment): the folder has neither a read-me nor an index page")
      }
      page = index
    }
    guard let fragment, !Self.isAlwaysThere(fragment), SourceFile.kind(ofPath: page) != nil else { return .good() }
    return verdict(on: fragment, in: page)
  }

  private func verdict(on fragment: String, in page: String) -> Verdict {
    let decoded = fragment.removingPercentEncoding ?? fragment
    if unreadable.contains(page) { return .broken(reason: "no anchor #\(decoded): the file could not be read") }
    // Nothing is said about pages that send the reader elsewhere.
    guard let names = anchors[page], !names.contains(fragment) else { return .good() }
    // GitHub puts this prefix before every name, and its scripts find it without.
    let prefix = "user-content-"
    let name = decoded.hasPrefix(prefix) ? String(decoded.dropFirst(prefix.count)) : decoded
    if names.contains(decoded) || names.contains(name) { return .good() }
    guard let nearest = Suggestion.nearest(to: decoded, amongFew: names) else {
      return .broken(reason: "no anchor #\(decoded)")
    }
    if nearest.lowercased() == decoded.lowercased() {
      return .broken(reason: "no anchor #\(decoded), but #\(nearest): mind the case")
    }
    return .broken(reason: "no anchor #\(decoded); did you mean #\(nearest)?")
  }

  /// Fragments that need no name in the page: its top, a search for text, and GitHub's line
  /// numbers.
  private static func isAlwaysThere(_ fragment: String) -> Bool {
    if fragment.isEmpty || fragment.lowercased() == "top" || fragment.hasPrefix(":~:") { return true }
    return isLines(fragment)
  }

  /// Whether the fragment marks lines, as the viewers of source code do: `L3`, `L3C5-L7C1`, `3-7`.
  private static func isLines(_ fragment: String) -> Bool {
    let ends = fragment.utf8.split(separator: .dash, omittingEmptySubsequences: false)
    let isMarked = fragment.hasPrefix("L")
    return (isMarked ? 1...2 : 2...2).contains(ends.count)
      && ends.allSatisfy { end in
        let numbers = end.dropFirst(isMarked && end.first == UInt8(ascii: "L") ? 1 : 0)
          .split(separator: UInt8(ascii: "C"), omittingEmptySubsequences: false)
        return numbers.count <= (isMarked ? 2 : 1)
          && numbers.allSatisfy { !$0.isEmpty && $0.allSatisfy(\.isDigit) }
      }
  }
}
