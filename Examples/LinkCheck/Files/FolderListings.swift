import ExampleSupport
import Foundation

/// What folders contain, each read once.
///
/// Paths are looked up in these listings and not by asking whether a file exists: names are
/// compared letter by letter, so a link that works only where the disk ignores case is found
/// everywhere.
final class FolderListings: Sendable {
  enum Entry: Sendable {
    case file, folder
  }

  private let listings = Shared<[String: [String: Entry]]>([:])

  /// The entries of the folder at `path` by name; nil when there is no such folder.
  func entries(of path: String) -> [String: Entry]? {
    if let known = listings.withLock({ $0[path] }) { return known }
    // Read outside the lock: two operations may read the same folder, none waits for a disk behind
    // another.
    guard let names = try? Disk.names(inFolder: path) else { return nil }
    var entries: [String: Entry] = [:]
    for name in names {
      guard let kind = try? Disk.kind(at: path + "/" + name) else { continue }
      entries[name] = kind == .folder ? .folder : .file
    }
    listings.withLock { $0[path] = entries }
    return entries
  }

  enum Lookup: Equatable, Sendable {
    case found(path: String, Entry)
    /// Nothing of that name; `nearest` is a similar name in the same folder.
    case missing(name: String, folder: String, nearest: String?)
    /// A part of the path on the way is a file.
    case notAFolder(path: String)
  }

  /// Follows `parts`, which contain no `.` or `..`, from the folder `start`.
  func find(_ parts: [Substring], from start: String) -> Lookup {
    var path = start
    var entry = Entry.folder
    for part in parts {
      guard entry == .folder else { return .notAFolder(path: path) }
      let names = entries(of: path) ?? [:]
      guard let next = names[String(part)] else {
        let nearest = Suggestion.nearest(to: String(part), amongFew: names.keys)
        return .missing(name: String(part), folder: path, nearest: nearest)
      }
      path += (path == "/" ? "" : "/") + part
      entry = next
    }
    return .found(path: path, entry)
  }

  /// The page that is shown for the folder at `path`: its read-me or index.
  func indexPage(of path: String) -> String? {
    let names = (entries(of: path) ?? [:]).filter { $0.value == .file }.keys
    for wanted in ["readme.md", "index.html", "index.htm", "index.md", "readme.markdown"] {
      if let name = names.sorted().first(where: { $0.lowercased() == wanted }) { return path + "/" + name }
    }
    return nil
  }
}
