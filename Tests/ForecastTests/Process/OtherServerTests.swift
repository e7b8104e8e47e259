#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct OtherServerTests {
  private static let place =
    #"{"name":"Oslo","country":"Norway","latitude":60,"longitude":10,"timezone":"Europe/Oslo"}"#
  private static let forecast = "/forecast?latitude=60.0&longitude=10.0&days=1"

  private func forecast(temperatures: String = "[4.5]") -> String {
    """
    {"latitude":60,"longitude":10,"timezone":"Europe/Oslo","daily_units":{"temperature_2m_max":"°F"},
     "daily":{"time":["2026-03-29"],"temperature_2m_max":\(temperatures),"temperature_2m_min":[1],
     "precipitation_sum":[0]},"hourly_units":{},"hourly":{"time":[],"temperature_2m":[]},"more":null}
    """
  }

  /// What is told of Oslo by a server that answers like this.
  private func ask(
    search: HTTPAnswer = .ok("{\"results\":[\(place)]}"), forecast: HTTPAnswer
  ) async throws -> (Tool.Result, server: String) {
    var result: (Tool.Result, server: String)?
    try await withServer { server in
      server.route("/search?q=Oslo", search)
      server.route(Self.forecast, forecast)
      let address = "http://127.0.0.1:\(server.port)"
      result = (try await Tool.run("--server", address, "--days", "1", "Oslo"), address)
    }
    return try #require(result)
  }

  @Test func otherServer_isAskedInstead() async throws {
    let (result, _) = try await ask(forecast: .ok(forecast()))
    #expect(result.status == 0)
    #expect(result.errors.isEmpty)
    #expect(result.output.hasPrefix("Oslo, Norway  60.0° N 10.0° E\n  Sun 29 Mar    1.0 █"))
    #expect(result.output.hasSuffix("  4.5 °F\n"))
  }

  @Test func serverThatIsNotThere_isTold_onceForAllCities() async throws {
    let nobody = try RefusingPort()
    let address = "http://127.0.0.1:\(nobody.port)"
    let result = try await Tool.run("--server", address, "Oslo", "Lisbon")
    #expect(result.status == 1)
    #expect(result.output.isEmpty)
    #expect(
      result.errors
        == "Forecast: There is no server at \(address). Start it, or leave --server out for the bundled one.\n")
  }

  @Test func placesThatAServerNames_areToldWithMarksForWhatATerminalWouldObey() async throws {
    let places = ["A", "B"].map { Self.place.replacing("Norway", with: "\($0)\\u001b[2J") }
    let result = try await ask(
      search: .ok("{\"results\":[\(places.joined(separator: ","))]}"), forecast: .ok(forecast())
    ).0
    #expect(result.status == 1)
    #expect(
      result.errors.hasPrefix("Forecast: “Oslo” may be Oslo, A\u{FFFD}[2J or Oslo, B\u{FFFD}[2J."), "\(result.errors)")
  }

  @Test func requestsForAPlace_areLoggedWithMarksForWhatATerminalWouldObey() async throws {
    try await withServer { server in
      server.route(
        "/search?q=Oslo",
        .ok("{\"results\":[\(Self.place.replacing("\"Oslo\"", with: "\"Oslo\\u001b[2J\""))]}"))
      server.route(Self.forecast, .ok(forecast()))
      let result = try await Tool.run(
        "--verbose", "--server", "http://127.0.0.1:\(server.port)", "--days", "1", "Oslo")
      #expect(result.status == 0)
      #expect(!result.errors.isEmpty && !result.errors.contains("\u{1B}"), "\(result.errors)")
      #expect(result.output.hasPrefix("Oslo\u{FFFD}[2J, Norway"), "\(result.output)")
    }
  }

  @Test func malformedJSON_isTold() async throws {
    let (result, server) = try await ask(forecast: .ok("{\"latitude\":]"))
    #expect(result.status == 1)
    #expect(
      result.errors
        == "Forecast: What \(server) answered is no weather (no JSON from byte 12 on). "
        + "Check the address that --server names.\n")
  }

  @Test(arguments: [
    ("{}", "latitude is missing"), ("[]", "all of it is of another type"),
  ])
  func jsonOfAnotherShape_isTold(_ body: String, _ problem: String) async throws {
    let (result, _) = try await ask(forecast: .ok(body))
    #expect(result.status == 1)
    #expect(result.errors.contains("is no weather (\(problem))."), "\(result.errors)")
  }

  @Test func listsOfDifferentLengths_areTold() async throws {
    let (result, _) = try await ask(forecast: .ok(forecast(temperatures: "[1, 2]")))
    #expect(result.status == 1)
    #expect(result.errors.contains("is no weather (its lists differ in length)."), "\(result.errors)")
  }

  @Test func refusal_isTold() async throws {
    let (result, server) = try await ask(forecast: .status(500))
    #expect(result.status == 1)
    #expect(
      result.errors
        == "Forecast: \(server) refused to answer, with the status 500. Check the address, or try again later.\n")
  }

  @Test func serverThatIsBusyForLong_isNotWaitedFor() async throws {
    let (result, server) = try await ask(forecast: .retryLater(after: "3600"))
    #expect(result.status == 1)
    #expect(result.errors.hasPrefix("Forecast: \(server) refused to answer, with the status "), "\(result.errors)")
  }

  @Test func refreshThatFails_isTold() async throws {
    // There is no /token.
    let (result, server) = try await ask(search: .status(401), forecast: .ok(forecast()))
    #expect(result.status == 1)
    #expect(result.errors.hasPrefix("Forecast: \(server) refused to answer, with the status 404."), "\(result.errors)")
  }
}
#endif
