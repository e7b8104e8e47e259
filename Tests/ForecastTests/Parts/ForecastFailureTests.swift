import Foundation
import Testing

@testable import Forecast

@Suite(.timeLimit(.minutes(30))) struct ForecastFailureTests {
  @Test func passwordOfTheServer_isNotShown() throws {
    let server = try #require(URL(string: "http://app:sesame@weather.example.org"))
    let failures: [ForecastFailure] = [
      .unreachable(server), .strangeAnswer(server, "no JSON from byte 0 on"), .refused(server, status: 401),
    ]
    for failure in failures {
      #expect("\(failure)".contains("http://app:********@weather.example.org"), "\(failure)")
    }
  }
}
