import ExampleSupport
import Foundation

/// The bundled server, which answers as long as it lives.
final class WeatherServer: Sendable {
  /// Where it listens, for clients of this machine.
  var url: URL { server.url }

  private let service: Shared<WeatherService>
  private let server: LocalServer

  init(_ service: WeatherService) throws(ServerSocket.Failure) {
    let service = Shared(service)
    self.service = service
    server = try LocalServer { request in service.withLock { $0.answer(request) } }
  }

  /// How many tokens it has issued.
  var tokenCount: Int { service.withLock(\.tokenCount) }
}
