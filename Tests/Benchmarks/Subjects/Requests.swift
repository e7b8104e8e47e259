import CompositeOperations
import Foundation
import HTTPOperations
import ManagedOperations
import TestSupport

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Small requests to a server in this process, 64 at a time.
struct Requests: Sendable {
  private let server: HTTPServer
  private let url: URL
  private let session: URLSession
  private let ownSession: URLSession
  private let http: HTTPManager

  private init() {
    do {
      server = try HTTPServer()
    } catch {
      fatalError("The benchmarks need a server on 127.0.0.1: \(error)")
    }
    server.route("/", .ok(String(repeating: "0123456789abcdef", count: 64)))
    url = URL(string: server.url())!
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = 64
    configuration.urlCache = nil
    session = URLSession(configuration: configuration)
    ownSession = URLSession(configuration: configuration)
    http = HTTPManager(configuration: configuration)
    http.operations.maxConcurrentOperationCount = 64
  }

  private static let shared = Requests()

  /// As operations alone, in a session of the same kind.
  static func runOperations(_ count: Int) async {
    let requests = shared
    await inLanes(count) {
      let response = try? await HTTPOperation(URLRequest(url: requests.url), session: requests.ownSession).run()
      precondition(response?.body.count == 1024)
    }
  }

  /// Through a manager without interceptors and reactors.
  static func runManaged(_ count: Int) async {
    let requests = shared
    await inLanes(count) {
      let response = try? await requests.http.data(for: URLRequest(url: requests.url))
      precondition(response?.body.count == 1024)
    }
  }

  /// With `URLSession` alone.
  static func runPlain(_ count: Int) async {
    let requests = shared
    await inLanes(count) {
      let size = await withCheckedContinuation { (continuation: CheckedContinuation<Int?, Never>) in
        requests.session.dataTask(with: URLRequest(url: requests.url)) { data, _, _ in
          continuation.resume(returning: data?.count)
        }.resume()
      }
      precondition(size == 1024)
    }
  }

  private static func inLanes(_ count: Int, _ ask: @escaping @Sendable () async -> Void) async {
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<64 {
        group.addTask {
          for _ in 0..<count / 64 { await ask() }
        }
      }
    }
  }
}
