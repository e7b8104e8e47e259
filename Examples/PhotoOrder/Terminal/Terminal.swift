import ExampleSupport
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

/// The terminal, if there is one.
enum Terminal {
  /// Whether the standard output is a terminal, on which lines can change.
  static var canDraw: Bool {
    isatty(STDOUT_FILENO) == 1 && ProcessInfo.processInfo.environment["TERM"] != "dumb"
  }

  /// Whether there are keys.
  static var hasKeys: Bool { isatty(STDIN_FILENO) == 1 }

  /// How many characters fit on a line, and how many lines on the screen.
  static var size: (width: Int, height: Int) {
    var size = winsize()
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
    return (Int(size.ws_col), Int(size.ws_row))
  }

  /// Whether more than ASCII can be shown.
  static var speaksUnicode: Bool {
    let environment = ProcessInfo.processInfo.environment
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
    return locale.lowercased().replacingOccurrences(of: "-", with: "").contains("utf8")
  }

  /// Writes to the standard error output, and ignores failures: there is no other place to report
  /// them.
  static func complain(_ text: String) {
    // The names in it may come from strangers: a shell puts them there for a *.
    try? StandardStream.error.write(Wording.plainLines(text))
  }
}

/// Writes to the standard output, and remembers when that failed: the disk was full, for example,
/// or the reader has gone.
final class Output {
  private(set) var failure: StandardStream.Failure?
  private let file: FileHandle

  init(to file: FileHandle = .standardOutput) {
    self.file = file
  }

  func write(_ text: String) {
    guard failure == nil else { return }
    do {
      try StandardStream.write(text, to: file.fileDescriptor)
    } catch {
      failure = error
    }
  }
}
