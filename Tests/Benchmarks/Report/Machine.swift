import Foundation

/// The machine and the date of the measurement.
struct Machine: Codable, Sendable, CustomStringConvertible {
  var processorCount = ProcessInfo.processInfo.activeProcessorCount
  var operatingSystem = Self.operatingSystemName
  var architecture = Self.architectureName
  var swift = Self.swiftVersion
  /// The day, as in 2026-03-29.
  var date = Date.now.formatted(.iso8601.year().month().day())
  /// A note on what the program cannot detect, such as the disk.
  var note: String?

  init(note: String? = nil) {
    self.note = note
  }

  var description: String {
    "\(processorCount) cores\(note.map { ", \($0)" } ?? ""), \(operatingSystem) \(architecture), Swift \(swift)"
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

  // The version is not available at run time.
  private static var swiftVersion: String {
    #if compiler(>=6.4)
    "6.4 or later"
    #elseif compiler(>=6.3)
    "6.3"
    #else
    "6.2"
    #endif
  }
}
