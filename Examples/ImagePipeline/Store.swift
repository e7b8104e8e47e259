import CompositeOperations
import ExampleSupport
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
  private let requests = Shared(0)

  init(folder: URL) {
    self.folder = folder
  }

  /// Writes the file. Every third request is turned away.
  func write(_ bytes: [UInt8], as name: String, number: Int) async throws -> Int {
    let request = requests.withLock { requests in
      requests += 1
      return requests
    }
    try await Task.sleep(for: .milliseconds(1 + request % 3))
    if request % 3 == 0 { throw Problem.busy(name: name) }
    try Data(bytes).write(to: folder.appendingPathComponent("\(number).runs"))
    return bytes.count
  }
}
