import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// What is on the disk, at absolute paths of any length.
///
/// The system refuses paths of more than some thousand bytes, but folders can be nested deeper than
/// that. Such a path is followed piece by piece, each from the folder that the one before led to.
enum Disk {
  enum Kind: Sendable {
    case file, folder, link
    /// A named pipe, for example.
    case other

    fileprivate init(_ status: stat) {
      switch status.st_mode & S_IFMT {
      case S_IFREG: self = .file
      case S_IFDIR: self = .folder
      case S_IFLNK: self = .link
      default: self = .other
      }
    }
  }

  enum Failure: Error, Equatable, CustomStringConvertible {
    case notAFile
    /// An error number of the system.
    case system(Int32)

    static let notAllowed = Failure.system(EACCES)

    var description: String {
      switch self {
      case .notAFile: "it is not a regular file"
      case .system(ENOENT): "the file does not exist"
      case .system(EACCES), .system(EPERM): "reading it is not allowed"
      case .system(let number): String(cString: strerror(number))
      }
    }
  }

  /// What is at `path`; nil when nothing is. Without `followingLinks`, a symbolic link at its end
  /// is one.
  static func kind(at path: String, followingLinks: Bool = true) throws(Failure) -> Kind? {
    do throws(Failure) {
      var status = stat()
      try reach(path) { folder, name in fstatat(folder, name, &status, followingLinks ? 0 : AT_SYMLINK_NOFOLLOW) }
      return Kind(status)
    } catch .system(ENOENT), .system(ENOTDIR) {
      return nil
    }
  }

  /// The names in the folder at `path`, in no order.
  static func names(inFolder path: String) throws(Failure) -> [String] {
    let descriptor = try reach(path) { openat($0, $1, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    guard let entries = fdopendir(descriptor) else {
      defer { close(descriptor) }
      throw .system(errno)
    }
    defer { closedir(entries) }
    var names: [String] = []
    while true {
      errno = 0
      guard let entry = readdir(entries) else {
        guard errno == 0 else { throw .system(errno) }
        return names
      }
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { $0.prefix { $0 != 0 }.text }
      if name != ".", name != ".." { names.append(name) }
    }
  }

  /// The content of the regular file at `path`.
  static func content(ofFile path: String) throws -> [UInt8] {
    switch try kind(at: path) {
    case nil: throw Failure.system(ENOENT)
    case .file?: break
    case .folder?, .link?, .other?: throw Failure.notAFile
    }
    // If a pipe has taken the place of the file, this does not wait for its other end.
    let descriptor = try reach(path) { openat($0, $1, O_RDONLY | O_NONBLOCK | O_CLOEXEC) }
    return Array(try FileHandle(fileDescriptor: descriptor, closeOnDealloc: true).readToEnd() ?? Data())
  }

  /// How long a path may be for every system, in bytes.
  private static let longest = 1_000

  /// Calls `body`, which returns a negative number when it fails, with `path` or, when that is too
  /// long, with the rest of it and the folder in which the rest starts.
  @discardableResult
  private static func reach(
    _ path: String, _ body: (_ folder: Int32, _ name: String) -> Int32
  ) throws(Failure) -> Int32 {
    var folder = AT_FDCWD
    defer { if folder != AT_FDCWD { close(folder) } }
    var rest = Array(path.utf8)[...]
    // No name is longer than a piece: one that is fails as such.
    while rest.count > longest, let end = rest.prefix(longest).lastIndex(of: .slash), end > rest.startIndex {
      let next = openat(folder, rest[..<end].text, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      guard next >= 0 else { throw .system(errno) }
      if folder != AT_FDCWD { close(folder) }
      folder = next
      rest = rest[(end + 1)...]
    }
    let result = body(folder, rest.text)
    guard result >= 0 else { throw .system(errno) }
    return result
  }
}
