import CompositeOperations
import Logging
import Synchronization

// Whether what an operation does is logged.

private let lines = Mutex<[String]>([])

struct KeepingLogHandler: LogHandler {
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.info

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    lines.withLock { $0.append("\(event.level) \(event.metadata?["event"] ?? "") \(event.metadata?["subject"] ?? "")") }
  }
}

@main struct Program {
  static func main() async {
    let operation = AsyncOperation<Void>(name: "work") { throw CancellationError() }
    operation.report(to: LoggingSink(logger: Logger(label: "recipe", factory: { _ in KeepingLogHandler() })))
    _ = try? await operation.run()
    let logged = lines.withLock { $0 }
    precondition(logged == ["info cancelled AsyncOperation<()>"], "\(logged)")
  }
}
