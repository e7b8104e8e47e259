import ExampleSupport
import Foundation

/// Finds the files to check: those that were named, and those in the folders that were named.
struct FileFinder: Sendable {
  let currentFolder: String
  let root: String?
  private let names: @Sendable (_ folder: String) throws -> [String]

  /// - Parameter names: What is in a folder.
  init(
    root: String?, currentFolder: String = FileManager.default.currentDirectoryPath,
    names: @escaping @Sendable (_ folder: String) throws -> [String] = { try Disk.names(inFolder: $0) }
  ) {
    self.currentFolder = FilePath.absolute(currentFolder, in: "/")
    self.root = root
    self.names = names
  }

  /// Every file once, in the order of the paths and by name within a folder.
  ///
  /// - Parameter isCancelled: Asked now and then; a search that is no longer wanted ends early.
  func find(_ paths: [String], isCancelled: () -> Bool = { false }) throws -> [SourceFile] {
    let givenRoot = try root.map(checkedRoot)
    var files: [SourceFile] = []
    var seen: Set<String> = []
    for path in paths {
      let absolute = FilePath.absolute(path, in: currentFolder)
      let root = givenRoot ?? findRoot(for: absolute)
      if let givenRoot, !FilePath.contains(givenRoot, absolute) {
        throw UsageError(
          problem: "\(path) lies outside the root folder \(self.root ?? givenRoot).",
          remedy: "Give a --root that contains every path.")
      }
      for (file, kind) in try filePaths(at: path, absolute, isCancelled: isCancelled)
      where seen.insert(file).inserted {
        files.append(
          SourceFile(path: file, name: FilePath.relative(file, to: currentFolder), kind: kind, root: root))
      }
    }
    return files
  }

  private func filePaths(
    at path: String, _ absolute: String, isCancelled: () -> Bool
  ) throws -> [(path: String, kind: SourceFile.Kind)] {
    guard !path.isEmpty else {
      throw UsageError(
        problem: "One of the paths is empty.", remedy: "Leave it out, or write . for the current folder.")
    }
    guard let isFolder = Self.isFolder(absolute) else {
      throw UsageError(
        problem: "\(path) does not exist.",
        remedy: "Check the spelling; paths are relative to \(currentFolder).")
    }
    guard isFolder else {
      if let kind = SourceFile.kind(ofPath: absolute) { return [(absolute, kind)] }
      throw UsageError(
        problem: "\(path) is neither a Markdown (.md, .markdown) nor an HTML (.html, .htm) file.",
        remedy: "Name such a file, or a folder that has some.")
    }
    let files = try search(absolute, isCancelled: isCancelled)
    if files.isEmpty, !isCancelled() {
      throw UsageError(
        problem: "There is no Markdown (.md, .markdown) or HTML (.html, .htm) file in \(path).",
        remedy: "Name another folder, or leave this one out.")
    }
    return files
  }

  /// The files in `folder` and below. Folders are kept on a list, so that no depth is too much;
  /// links to folders are not followed, so that no circle is. A folder below that cannot be read is
  /// listed like a file that cannot, and so is one of which not all is known.
  private func search(
    _ folder: String, isCancelled: () -> Bool
  ) throws -> [(path: String, kind: SourceFile.Kind)] {
    var found: [(path: String, kind: SourceFile.Kind)] = []
    var folders = [folder]
    while let next = folders.popLast(), !isCancelled() {
      let names: [String]
      do {
        names = try self.names(next)
      } catch {
        guard next == folder else {
          found.append((next, .unreadableFolder))
          continue
        }
        throw UsageError(
          problem: "The folder \(FilePath.relative(next, to: currentFolder)) cannot be read.",
          remedy: "Allow reading it, or leave it out.")
      }
      var isKnown = true
      for name in names where !name.hasPrefix(".") {
        let path = next == "/" ? "/" + name : next + "/" + name
        do {
          if try Disk.kind(at: path, followingLinks: false) == .folder {
            folders.append(path)
            continue
          }
        } catch {
          isKnown = false
        }
        if let kind = SourceFile.kind(ofPath: name), Self.isFolder(path) != true { found.append((path, kind)) }
      }
      if !isKnown { found.append((next, .unreadableFolder)) }
    }
    return found.sorted { $0.path < $1.path }
  }

  private func checkedRoot(_ root: String) throws -> String {
    let absolute = FilePath.absolute(root, in: currentFolder)
    if Self.isFolder(absolute) == true { return absolute }
    throw UsageError(
      problem: "--root \(root) is not a folder.",
      remedy: "Give an existing folder, for example: --root .")
  }

  /// The Git work tree around `path`, else the current folder when that is around it, else the
  /// path's own folder.
  private func findRoot(for path: String) -> String {
    let folder = Self.isFolder(path) == true ? path : FilePath.parent(of: path)
    var candidate = folder
    while true {
      if Self.isFolder(candidate + "/.git") != nil { return candidate }
      guard candidate != "/" else { break }
      candidate = FilePath.parent(of: candidate)
    }
    return FilePath.contains(currentFolder, path) ? currentFolder : folder
  }

  /// Whether a folder is at `path`; nil when nothing is.
  private static func isFolder(_ path: String) -> Bool? {
    (try? Disk.kind(at: path)).map { $0 == .folder }
  }
}
