import CompositeOperationsTestKit
import DurableOperations
import Foundation

/// A job with nothing but a number.
struct Count: Job, Equatable {
  static let kind = "count"
  var number: Int
}

/// Another kind.
struct Send: Job, Equatable {
  static let kind = "send"
  var text: String
}

struct TestFailure: Error, Equatable {
  var text = "it failed"
}

/// An error that calls `body` when it is asked for its description.
struct DescribedFailure: LocalizedError {
  private let body: @Sendable () -> Void

  init(_ body: @escaping @Sendable () -> Void) { self.body = body }

  var errorDescription: String? {
    body()
    return "it failed"
  }
}

/// Calls `body` with the file of a database in a folder of its own, which is removed at the end.
func withDatabaseFile<R>(_ body: (URL) async throws -> R) async throws -> R {
  let folder = FileManager.default.temporaryDirectory.appending(path: "DurableOperationsTests-\(UUID().uuidString)")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  return try await body(folder.appending(path: "jobs.sqlite"))
}
