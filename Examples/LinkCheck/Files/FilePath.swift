import Foundation

/// Arithmetic on paths as texts; asks no disk.
enum FilePath {
  /// The absolute path for one that may be relative to `folder`, without `.` and `..`.
  static func absolute(_ path: String, in folder: String) -> String {
    let full = path.hasPrefix("/") ? path : folder + "/" + path
    return "/" + normalized(full.split(separator: "/"), from: []).joined(separator: "/")
  }

  /// `parts` followed from the folder `start`, without `.` and `..`. More `..` than there are
  /// folders end at the top.
  static func normalized(_ parts: [Substring], from start: [Substring]) -> [Substring] {
    var result = start
    for part in parts where part != "." {
      if part == ".." { _ = result.popLast() } else { result.append(part) }
    }
    return result
  }

  /// Whether `path` is `folder` or lies in it. Both are absolute.
  static func contains(_ folder: String, _ path: String) -> Bool {
    folder == "/" || path == folder || path.hasPrefix(folder + "/")
  }

  /// `path` as seen from `folder` when it lies in there, else as it is.
  static func relative(_ path: String, to folder: String) -> String {
    guard path != folder else { return "." }
    guard contains(folder, path) else { return path }
    return String(path.dropFirst(folder == "/" ? 1 : folder.count + 1))
  }

  /// The last part of `path`.
  static func name(of path: String) -> Substring {
    path.suffix(from: path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)
  }

  /// The folder that `path` lies in.
  static func parent(of path: String) -> String {
    let end = path.lastIndex(of: "/") ?? path.startIndex
    return end == path.startIndex ? "/" : String(path[..<end])
  }
}
