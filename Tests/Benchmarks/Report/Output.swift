import Foundation

/// Writes to the standard streams at once: a reader behind a pipe sees each row when it is measured.
enum Output {
  static func write(_ text: String) {
    FileHandle.standardOutput.write(Data(text.utf8))
  }

  static func writeError(_ text: String) {
    FileHandle.standardError.write(Data(text.utf8))
  }
}

/// What the figures were measured on.
struct Machine: Codable, Sendable, CustomStringConvertible {
  var processorCount = ProcessInfo.processInfo.activeProcessorCount
  var operatingSystem = Self.operatingSystemName
  var architecture = Self.architectureName

  var description: String {
    "\(processorCount) cores, \(operatingSystem) \(architecture)"
  }

  private static var operatingSystemName: String {
    #if os(Linux)
    "Linux"
    #elseif os(macOS)
    "macOS"
    #else
    "another system"
    #endif
  }

  private static var architectureName: String {
    #if arch(x86_64)
    "x86_64"
    #elseif arch(arm64)
    "arm64"
    #else
    "another architecture"
    #endif
  }
}
