import Foundation

/// A folder with files for one test; it goes when the test does.
final class TemporaryFolder: Sendable {
  let path: String

  init(_ files: [String: String] = [:]) throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("PhotoOrderTests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    path = url.resolvingSymlinksInPath().path
    for (name, content) in files { try write(Data(content.utf8), to: name) }
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  func write(_ content: Data, to name: String) throws {
    let file = URL(fileURLWithPath: path + "/" + name)
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try content.write(to: file)
  }

  func read(_ name: String) throws -> Data {
    try Data(contentsOf: URL(fileURLWithPath: path + "/" + name))
  }

  func text(_ name: String) throws -> String {
    String(decoding: try read(name), as: UTF8.self)
  }

  func exists(_ name: String) -> Bool {
    FileManager.default.fileExists(atPath: path + "/" + name)
  }

  /// The names of what is in a folder, sorted.
  func list(_ name: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path + "/" + name).sorted()
  }
}
