import ExampleSupport
import Foundation
import Testing

@testable import Forecast

@Suite(.timeLimit(.minutes(30))) struct ServiceTests {
  private static let day = Day("2026-03-29")

  /// A service, and the token that it accepts.
  private func service(seed: UInt64 = 3, tokenUses: Int = 1_000) throws -> (WeatherService, token: String) {
    var service = WeatherService(seed: seed, firstDay: try #require(Self.day), tokenUses: tokenUses)
    let token = try newToken(of: &service)
    return (service, token)
  }

  private func newToken(of service: inout WeatherService) throws -> String {
    let answer = service.answer(ServerRequest(method: "POST", target: "/token"))
    #expect(answer.status == 200)
    return try JSONDecoder().decode(TokenAnswer.self, from: answer.body).accessToken
  }

  /// Asks, and once more if the service is busy.
  private func ask(_ service: inout WeatherService, _ target: String, _ token: String) -> ServerAnswer {
    let request = ServerRequest(method: "GET", target: target, headers: ["authorization": "Bearer \(token)"])
    let answer = service.answer(request)
    return answer.status == 503 ? service.answer(request) : answer
  }

  private func places(_ text: String) throws -> SearchAnswer {
    var (service, token) = try service()
    let text = try #require(text.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
    return try JSONDecoder().decode(SearchAnswer.self, from: ask(&service, "/search?q=\(text)", token).body)
  }

  @Test func search_findsByTheBeginning_whateverTheCaseAndTheAccents() throws {
    #expect(try places("lis").results.map(\.title) == ["Lisbon, Portugal"])
    #expect(try places("REYKJAVIK").results.map(\.title) == ["Reykjavík, Iceland"])
    #expect(try places("Bogotá").results.map(\.title) == ["Bogotá, Colombia"])
    #expect(try places("l").results.map(\.name) == ["Lisbon", "London"])
  }

  @Test func search_prefersTheWholeName() throws {
    #expect(try places("Santiago").results.map(\.title) == ["Santiago, Chile"])
    #expect(try places("Valencia").results.map(\.country) == ["Spain", "Venezuela"])
  }

  @Test func search_withoutResults_suggestsWhatIsNear() throws {
    #expect(try places("Lisbom") == SearchAnswer(results: [], suggestion: "Lisbon"))
    #expect(try places("Atlantis") == SearchAnswer(results: [], suggestion: nil))
  }

  @Test func token_isGoodForSoManyAnswers() throws {
    var (service, token) = try service(tokenUses: 2)
    #expect(ask(&service, "/search?q=Oslo", token).status == 200)
    #expect(ask(&service, "/search?q=Paris", token).status == 200)
    let refused = ask(&service, "/search?q=Tokyo", token)
    #expect(refused.status == 401)
    #expect(refused.headers["WWW-Authenticate"] == "Bearer")
    let second = try newToken(of: &service)
    #expect(second != token)
    #expect(ask(&service, "/search?q=Tokyo", token).status == 401)
    #expect(ask(&service, "/search?q=Tokyo", second).status == 200)
  }

  @Test func busyAddresses_areSoOnce_andDependOnTheSeedAlone() throws {
    func busy(_ targets: [String]) throws -> Set<String> {
      var (service, token) = try service()
      return Set(
        targets.filter { target in
          let request = ServerRequest(method: "GET", target: target, headers: ["authorization": "Bearer \(token)"])
          let answer = service.answer(request)
          if answer.status == 503 {
            #expect(answer.headers["Retry-After"] == "1")
            #expect(service.answer(request).status == 200)
          }
          return answer.status == 503
        })
    }
    let targets = City.all.map { "/search?q=\($0.place.name.prefix(3))" }
    let forwards = try busy(targets)
    #expect(!forwards.isEmpty && forwards.count < targets.count)
    #expect(try busy(targets.reversed()) == forwards)
  }

  @Test func forecast_isTheSameForTheSameSeed_andPlausible() throws {
    let maker = WeatherMaker(seed: 3, firstDay: try #require(Self.day))
    for city in City.all {
      let forecast = maker.forecast(for: city, days: 14)
      #expect(forecast == maker.forecast(for: city, days: 14))
      #expect(forecast.daily.time.count == 14 && forecast.hourly.time.count == 14 * 24)
      #expect(forecast.daily.time.first == "2026-03-29" && forecast.daily.time.last == "2026-04-11")
      #expect(forecast.hourly.time[1] == "2026-03-29T01:00")
      for index in 0..<14 {
        let hours = forecast.hourly.temperature[index * 24..<(index + 1) * 24]
        #expect(hours.max() == forecast.daily.temperatureMax[index])
        #expect(hours.min() == forecast.daily.temperatureMin[index])
      }
      #expect(forecast.daily.temperatureMax.allSatisfy { (-40.0...50).contains($0) })
      #expect(forecast.daily.precipitationSum.allSatisfy { $0 >= 0 })
    }
    let lisbon = try #require(City.all.first { $0.place.name == "Lisbon" })
    #expect(
      WeatherMaker(seed: 4, firstDay: try #require(Self.day)).forecast(for: lisbon, days: 7)
        != maker.forecast(for: lisbon, days: 7))
  }

  @Test(arguments: [
    ("GET", "/weather", 404), ("GET", "/token", 405), ("POST", "/search?q=Oslo", 405), ("GET", "/search", 400),
    ("GET", "/search?q=", 400), ("GET", "/forecast?latitude=1&longitude=1", 400),
    ("GET", "/forecast?latitude=59.91&longitude=10.75&days=15", 400),
    ("GET", "/forecast?latitude=0&longitude=0&days=7", 404),
  ])
  func whatIsNoQuestion_isAnsweredWithAReason(_ method: String, _ target: String, _ status: Int) throws {
    var (service, token) = try service()
    let request = ServerRequest(method: method, target: target, headers: ["authorization": "Bearer \(token)"])
    var answer = service.answer(request)
    if answer.status == 503 { answer = service.answer(request) }
    #expect(answer.status == status)
    #expect(try !JSONDecoder().decode(ServerProblem.self, from: answer.body).reason.isEmpty)
  }
}
