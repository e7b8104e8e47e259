import CompositeOperations
import ExampleSupport
import Foundation
import HTTPOperations
import ManagedOperations
import PipelineOperations

/// Why there is no forecast for a city, in a sentence, with what to do.
enum ForecastFailure: Error, Equatable, Sendable {
  case unknownCity(String, suggestion: String?)
  case severalCities(String, [String])
  /// The values of a forecast do not belong together.
  case inconsistentForecast
  case impossibleForecast
  case unreachable(URL)
  /// What a server answered is not what was asked for.
  case strangeAnswer(URL, String)
  case refused(URL, status: Int)
  case other(String)

  /// What the error that ended the work for a city means for the user.
  init(_ error: any Error, server: URL) {
    switch error {
    case ForecastFailure.inconsistentForecast:
      self = .strangeAnswer(server, "its lists differ in length")
    case ForecastFailure.impossibleForecast:
      self = .strangeAnswer(server, "a temperature in it is none")
    case let failure as ForecastFailure:
      self = failure
    case let error as PipelineStepError:
      self.init(error.cause, server: server)
    case let error as ManagedTaskError where error.cause != nil:
      self.init(error.cause ?? error, server: server)
    case let error as HTTPStatusError:
      self = .refused(server, status: error.status)
    case let error as HTTPError
    where [.connectionRefused, .hostNotFound, .notConnected].contains(error.code):
      self = .unreachable(server)
    case let error as JSONSyntaxError:
      self = .strangeAnswer(server, "no JSON from byte \(error.byteOffset) on")
    case let error as DecodingError:
      self = .strangeAnswer(server, error.problem)
    default:
      self = .other("\(error)")
    }
  }
}

extension ForecastFailure: CustomStringConvertible {
  var description: String {
    switch self {
    case .unknownCity(let name, let suggestion):
      "There is no city “\(name)”. " + (suggestion.map { "Did you mean \($0)?" } ?? "Try the beginning of its name.")
    case .severalCities(let name, let titles):
      "“\(name)” may be \(titles.joined(separator: " or ")). Name one of them, with its country."
    case .inconsistentForecast:
      "The lists of the forecast differ in length."
    case .impossibleForecast:
      "A temperature of the forecast is none."
    case .unreachable(let server):
      "There is no server at \(shown(server)). Start it, or leave --server out for the bundled one."
    case .strangeAnswer(let server, let problem):
      "What \(shown(server)) answered is no weather (\(problem)). Check the address that --server names."
    case .refused(let server, let status):
      "\(shown(server)) refused to answer, with the status \(status). "
        + ([401, 403].contains(status) ? "Ask its owner for access." : "Check the address, or try again later.")
    case .other(let text): text
    }
  }

  /// The address of a server, without the password in it.
  private func shown(_ server: URL) -> String { HiddenPassword.hiding(in: server.absoluteString) }
}

extension DecodingError {
  /// What is wrong where, in a few words.
  fileprivate var problem: String {
    func path(_ keys: [any CodingKey]) -> String {
      keys.isEmpty ? "all of it" : keys.map { $0.intValue.map { "\($0)" } ?? $0.stringValue }.joined(separator: ".")
    }
    return switch self {
    case .keyNotFound(let key, let context): "\(path(context.codingPath + [key])) is missing"
    case .typeMismatch(_, let context): "\(path(context.codingPath)) is of another type"
    case .valueNotFound(_, let context): "\(path(context.codingPath)) is null"
    case .dataCorrupted(let context): "\(path(context.codingPath)) is malformed"
    @unknown default: "it cannot be decoded"
    }
  }
}
