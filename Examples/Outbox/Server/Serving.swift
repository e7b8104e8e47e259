import ExampleSupport
import Foundation

/// Runs the bundled server until the program should end.
struct Serving {
  let options: ServeOptions

  init(_ options: ServeOptions) {
    self.options = options
  }

  /// Returns the exit status.
  func run() async throws -> Int32 {
    let log = try ArrivalLog(path: options.log)
    let service = Shared(
      MessageService(failure: options.failure, seed: options.seed, arrivals: log.arrivals))
    let server = try LocalServer(port: options.port, longestBody: 64 << 20) { request in
      service.withLock { $0.answer(request, write: log.write) }
    }
    // Before anyone knows of the server, who could end it.
    let (requests, request) = AsyncStream.makeStream(of: Void.self)
    let end = await EndRequest(atEndOfInput: options.endsWithInput) { request.yield() }
    let percent = Int((options.failure * 100).rounded())
    OutboxCommand.tell(
      "\(server.url)  \(percent) % of the requests fail (seed \(options.seed)), the log is \(options.log)")
    await requests.first { _ in true }
    withExtendedLifetime((server, end)) {}
    let tally = service.withLock(\.tally)
    OutboxCommand.tell(
      "\(Wording.count(tally.accepted, "message")) arrived, \(tally.duplicates) came again.")
    return OutboxCommand.ExitStatus.good
  }
}
