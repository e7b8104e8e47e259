import Foundation

/// A folder for one test; it goes when the test does.
final class TemporaryFolder: Sendable {
  let path: String

  init(_ files: [String: String] = [:]) throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("OutboxTests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    path = url.resolvingSymlinksInPath().path
    for (name, content) in files { try write(content, to: name) }
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  /// A folder `letters` in it with so many messages.
  static func withLetters(_ count: Int) throws -> TemporaryFolder {
    try TemporaryFolder(
      Dictionary(uniqueKeysWithValues: (1...count).map { ("letters/\($0).txt", "This is letter \($0).\n") }))
  }

  func write(_ content: String, to name: String) throws {
    let file = URL(fileURLWithPath: path + "/" + name)
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(content.utf8).write(to: file)
  }

  func text(_ name: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(fileURLWithPath: path + "/" + name)), as: UTF8.self)
  }

  func list() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path).sorted()
  }
}
