import CompositeOperations
import Foundation
import HTTPOperations
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension Trait where Self == TimeLimitTrait {
  /// Ends a test that hangs; not a measure of what a test takes.
  static var hangLimit: Self { .timeLimit(.minutes(30)) }
}

/// A request to an address, changed by `change`.
func request(_ url: String, _ method: String = "GET", _ change: (inout URLRequest) -> Void = { _ in }) -> URLRequest {
  var request = URLRequest(url: URL(string: url)!)
  request.httpMethod = method
  // A busy machine may let a test wait for minutes. It is the test that ends a request, not the
  // time.
  request.timeoutInterval = 3_600
  change(&request)
  return request
}

extension Outcome {
  /// The error as one of `HTTPOperations`, if it is one.
  var httpError: HTTPError? { error as? HTTPError }
  /// The error as the answer with a status that was not accepted, if it is one.
  var statusError: HTTPStatusError? { error as? HTTPStatusError }
}

extension HTTPResponse {
  var text: String { String(decoding: body, as: UTF8.self) }
}

/// A folder for one test; it goes when the test does.
final class TemporaryFolder: Sendable {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("HTTPOperationsTests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit {
    try? FileManager.default.removeItem(at: url)
  }

  func file(_ name: String) -> URL { url.appendingPathComponent(name) }

  func text(of name: String) -> String? { try? String(contentsOf: file(name), encoding: .utf8) }

  /// Everything in it, with hidden files and those in folders, sorted.
  func contents() throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: url.path).sorted()
  }
}
