import Foundation

/// Writes to the standard streams at once: a reader behind a pipe sees each row when it is
/// measured.
enum Output {
  static func write(_ text: String) {
    FileHandle.standardOutput.write(Data(text.utf8))
  }

  static func writeError(_ text: String) {
    FileHandle.standardError.write(Data(text.utf8))
  }
}
