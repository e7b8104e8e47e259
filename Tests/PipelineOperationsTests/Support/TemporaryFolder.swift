import Foundation

/// A folder for one test; it goes when the test does.
final class TemporaryFolder: Sendable {
  let url: URL

  init() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "PipelineOperationsTests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    url = folder.resolvingSymlinksInPath()
  }

  deinit {
    try? FileManager.default.removeItem(at: url)
  }

  func file(_ name: String, _ content: Data? = nil) throws -> URL {
    let file = url.appendingPathComponent(name)
    if let content { try content.write(to: file) }
    return file
  }

  /// Makes a pipe that has a name in the folder.
  func pipe(_ name: String) throws -> URL {
    let pipe = url.appendingPathComponent(name)
    guard mkfifo(pipe.path, 0o600) == 0 else { throw CocoaError(.fileWriteUnknown) }
    return pipe
  }

  /// The names of what is in the folder, sorted.
  var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: url.path).sorted() }
  }
}
