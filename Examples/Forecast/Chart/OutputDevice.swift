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

/// What the standard output is connected to.
enum OutputDevice {
  /// A chart that fits it: with colours and the width of the window on a terminal.
  static var chart: Chart {
    let environment = ProcessInfo.processInfo.environment
    guard isatty(STDOUT_FILENO) == 1 else { return Chart() }
    var size = winsize()
    let isKnown = ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
    return Chart(
      width: isKnown ? Int(size.ws_col) : 80,
      usesColour: environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb")
  }
}
