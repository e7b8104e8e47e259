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

/// Where a terminal progress goes: what it can show, and how to write to it.
struct TerminalDevice: Sendable {
  /// Whether lines can be drawn again.
  var canDraw: Bool
  var theme: TerminalTheme
  /// How many columns and lines there are now.
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
      // Nothing can be told to somebody who does not listen, so that it fails does not matter.
      write: { try? output.write(contentsOf: Data($0.utf8)) })
  }
}
