import Foundation

/// A folder that behaves like a service: it takes its time, and is busy now and then.
final class Store: Sendable {
  enum Problem: LocalizedError {
    case busy(name: String)
    case damaged(name: String)

    var errorDescription: String? {
      switch self {
      case .busy(let name): "The store was busy when “\(name)” came."
      case .damaged(let name): "“\(name)” is damaged: it ends in the middle of a row."
      }
    }
  }

  private let folder: URL

  init(folder: URL) {
    self.folder = folder
  }

  /// Writes the file. Every fourth is turned away at the first attempt, every eighth at the second
  /// one too.
  func write(_ bytes: [UInt8], as name: String, number: Int, attempt: Int) async throws -> Int {
    try await Task.sleep(for: .milliseconds(1 + number % 3))
    if attempt <= (number % 8 == 0 ? 2 : number % 4 == 0 ? 1 : 0) { throw Problem.busy(name: name) }
    try Data(bytes).write(to: folder.appendingPathComponent("\(number).runs"))
    return bytes.count
  }
}
