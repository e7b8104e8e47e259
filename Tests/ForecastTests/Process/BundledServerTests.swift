#if os(macOS) || os(Linux)
import Foundation
import Testing

@Suite(.timeLimit(.minutes(30))) struct BundledServerTests {
  private func lines(_ text: String) -> [String] {
    text.split(separator: "\n").map(String.init)
  }

  @Test func cities_areShownInTheirOrder() async throws {
    let result = try await Tool.run("--date", "2026-03-29", "Oslo", "Lisbon", "nairobi", "--days=3")
    #expect(result.status == 0)
    #expect(result.errors.isEmpty)
    let titles = lines(result.output).filter { !$0.hasPrefix(" ") }
    #expect(
      titles == [
        "Oslo, Norway  59.91° N 10.75° E", "Lisbon, Portugal  38.72° N 9.13° W", "Nairobi, Kenya  1.28° S 36.82° E",
      ])
    #expect(lines(result.output).count { $0.contains("█") } == 12)
    #expect(lines(result.output).count { $0.hasPrefix("  Tue 31 Mar ") } == 3)
    #expect(!result.output.contains("\u{1B}"))
  }

  @Test func timeline_whereNobodyReadsTheForecast_isWrittenToo() async throws {
    let pipe = Pipe()
    try pipe.fileHandleForReading.close()
    let (result, page) = try await Tool.run(
      "--timeline", "run.html", "Oslo", output: pipe.fileHandleForWriting, reading: "run.html")
    #expect(result.status == 0)
    #expect(result.errors.isEmpty)
    #expect(page.contains("Oslo"))
  }

  @Test func weather_dependsOnTheSeedAndTheDay() async throws {
    let first = try await Tool.run("--date", "2026-03-29", "Cairo")
    #expect(first.status == 0)
    #expect(try await Tool.run("--date", "2026-03-29", "Cairo").output == first.output)
    #expect(try await Tool.run("--date", "2026-03-29", "--seed", "4", "Cairo").output != first.output)
    #expect(try await Tool.run("--date", "2026-03-30", "Cairo").output != first.output)
  }

  @Test func severalCities_causeOneRefresh() async throws {
    let result = try await Tool.run(
      "--verbose", "--token-uses", "1000", "--rate", "1000", "Lisbon", "Oslo", "Nairobi", "Cairo")
    #expect(result.status == 0)
    let log = lines(result.errors)
    #expect(log.filter { $0.hasPrefix("token ") } == ["token                   refreshed (1)"])
    // Which ones were asked for before the refresh depends on the threads; the first one was.
    let refused = ["Lisbon", "Oslo", "Nairobi", "Cairo"]
      .map { "search \($0)".padding(toLength: 24, withPad: " ", startingAt: 0) }
      .filter { log.contains($0 + "is answered with 401") }
    #expect(!refused.isEmpty)
    #expect(refused.allSatisfy { log.contains($0 + "is asked for again") }, "\(log)")
    #expect(log.contains("forecast Cairo          is answered with 200"))
    #expect(!log.contains { $0.contains("rate limit") })
  }

  @Test func tokenThatIsUsedUp_isRefreshed() async throws {
    let result = try await Tool.run(
      "-v", "--token-uses", "4", "--rate", "1000", "Lisbon", "Oslo", "Nairobi", "Cairo", "Tokyo", "Paris")
    #expect(result.status == 0)
    #expect(result.output.contains("Paris, France"))
    // Twelve answers, four for each token: none is replaced before it is used up.
    #expect(lines(result.errors).count { $0.hasPrefix("token ") } == 3)
  }

  @Test func busyServer_isAskedAgain() async throws {
    let result = try await Tool.run("--verbose", "--seed", "3", "Oslo")
    #expect(result.status == 0)
    let log = lines(result.errors)
    let busy = try #require(log.firstIndex(of: "forecast Oslo           is answered with 503, to be asked for later"))
    #expect(log[(busy + 1)...].prefix(1) == ["forecast Oslo           pauses for 1.0 seconds"])
    #expect(log.last == "forecast Oslo           is answered with 200")
  }

  @Test func requestsThatWereHeld_haveTheTokenOfTheMoment() async throws {
    let result = try await Tool.run(
      "--verbose", "--token-uses", "4", "--rate", "2", "Lisbon", "Cairo", "Tokyo", "Paris")
    #expect(result.status == 0)
    #expect(result.errors.contains("waits, by the rate limit"))
    #expect(lines(result.errors).count { $0.hasPrefix("token ") } == 2)
  }

  @Test func cityThatIsNotFound_keepsNoOtherFromBeingShown() async throws {
    let result = try await Tool.run("Lisbom", "Cairo", "Atlantis", "Valencia", "valencia, ven", "--days", "1")
    #expect(result.status == 1)
    #expect(lines(result.output).filter { !$0.hasPrefix(" ") }.map { $0.prefix(8) } == ["Cairo, E", "Valencia"])
    #expect(
      lines(result.errors) == [
        "Forecast: There is no city “Lisbom”. Did you mean Lisbon?",
        "Forecast: There is no city “Atlantis”. Try the beginning of its name.",
        "Forecast: “Valencia” may be Valencia, Spain or Valencia, Venezuela. Name one of them, with its country.",
      ])
  }

  @Test func timeline_isAPageOfAllThatRan() async throws {
    let (result, page) = try await Tool.run("--timeline", "run.html", "Lisbon", "Cairo", reading: "run.html")
    #expect(result.status == 0)
    for name in ["\"Lisbon\"", "\"report Cairo\"", "\"search\"", "\"load\"", "\"DecodeJSON\""] {
      #expect(page.contains(name), "\(name) is not in the page")
    }
  }

  @Test func timelineThatCanNotBeWritten_isTold() async throws {
    let result = try await Tool.run("--timeline", "nowhere/run.html", "Cairo")
    #expect(result.status == 1)
    #expect(result.output.hasPrefix("Cairo, Egypt"))
    #expect(result.errors.hasPrefix("Forecast: The timeline could not be written to “"), "\(result.errors)")
  }
}
#endif
