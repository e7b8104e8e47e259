import CompositeOperations
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

/// The output of a terminal progress: what it can show, and how to write to it.
struct TerminalDevice: Sendable {
  /// Whether lines can be redrawn.
  var canDraw: Bool
  var theme: TerminalTheme
  /// The present number of columns and lines.
  var size: @Sendable () -> (width: Int, height: Int)
  /// Called by one thread at a time, under no lock.
  var write: @Sendable (String) -> Void

  init(
    canDraw: Bool, theme: TerminalTheme, size: @escaping @Sendable () -> (width: Int, height: Int),
    write: @escaping @Sendable (String) -> Void
  ) {
    self.canDraw = canDraw
    self.theme = theme
    self.size = size
    self.write = write
  }

  init(_ output: FileHandle) {
    let descriptor = output.fileDescriptor
    let environment = ProcessInfo.processInfo.environment
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
    let speaksUnicode = locale.lowercased().replacingOccurrences(of: "-", with: "").contains("utf8")
    self.init(
      canDraw: isatty(descriptor) == 1 && environment["TERM"] != "dumb", theme: speaksUnicode ? .unicode : .ascii,
      size: {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
        return (Int(size.ws_col), Int(size.ws_row))
      },
      // An error is ignored: there is no other place to report it.
      write: { try? output.write(contentsOf: Data($0.utf8)) })
  }
}
