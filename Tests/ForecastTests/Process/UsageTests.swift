#if os(macOS) || os(Linux)
import ExampleSupport
import Foundation
import Testing

@testable import Forecast

@Suite(.timeLimit(.minutes(30))) struct UsageTests {
  @Test(arguments: [
    ([], "No city was given.", "Forecast Lisbon Oslo"),
    (["Oslo", " "], "One of the cities has no name.", "Forecast Lisbon"),
    (["--days"], "--days needs a value.", "--days 7"),
    (["--days", "--verbose", "Oslo"], "--days needs a value.", "--days 7"),
    (["--days", "0", "Oslo"], "--days cannot be “0”.", "from 1 to 14"),
    (["--days", "-1", "Oslo"], "--days cannot be “-1”.", "from 1 to 14"),
    (["--rate=fast", "Oslo"], "--rate cannot be “fast”.", "from 1 to 1000"),
    (["--token-uses", "3", "Oslo"], "--token-uses cannot be “3”.", "from 4"),
    (["--seed", "-1", "Oslo"], "--seed cannot be “-1”.", "whole number"),
    (["--date", "2026-02-30", "Oslo"], "--date cannot be “2026-02-30”.", "--date 2026-03-29"),
    (["--server", "127.0.0.1", "Oslo"], "--server cannot be “127.0.0.1”.", "http or https address"),
    (["--server", "ftp://host", "Oslo"], "--server cannot be “ftp://host”.", "http or https address"),
    (["--server", "ftp://app:se@same@host", "Oslo"], "--server cannot be “ftp://app:********@host”.", "http or https"),
    (["--timeline=", "Oslo"], "--timeline needs a value.", "timeline.html"),
    (["--verbose=yes", "Oslo"], "--verbose takes no value", "Write --verbose alone."),
    (["--verbos", "Oslo"], "--verbos is not an option.", "Did you mean --verbose?"),
    (["-x", "Oslo"], "-x is not an option.", "Forecast --help"),
    (["--server", "http://app:se#same@example.org", "Oslo"], "--server cannot be “http://app:********@", "%23"),
  ])
  func commandLine_thatIsWrong_saysWhatToDo(_ arguments: [String], _ problem: String, _ remedy: String) throws {
    let error = try #require(throws: UsageError.self) { try OptionParser.parse(arguments) }
    #expect(error.problem.hasPrefix(problem), "\(error)")
    #expect(error.remedy.contains(remedy), "\(error)")
  }

  @Test func options_areRead() throws {
    var options = Options()
    options.cities = ["Oslo", "-1 Island"]
    options.server = URL(string: "https://example.org/weather")
    (options.days, options.seed, options.tokenUses, options.rate) = (3, 9, 4, 2)
    options.date = Day("2026-03-29")
    (options.verbose, options.timeline) = (true, "a.html")
    #expect(
      try OptionParser.parse([
        "--server", "https://example.org/weather", "--days=3", "--seed", "9", "--token-uses", "4", "--rate", "2",
        "--date",
        "2026-03-29", "-v", "--timeline", "a.html", " Oslo ", "--", "-1 Island",
      ]) == options)
  }

  @Test func passwordOfTheServer_isKeptForTheRequests() throws {
    let address = "http://app:sesame@example.org"
    #expect(try OptionParser.parse(["--server", address, "Oslo"]).server?.absoluteString == address)
  }

  @Test func commandLine_thatIsWrong_exitsWith64() async throws {
    let result = try await Tool.run("--dais", "3", "Oslo")
    #expect(result.status == 64)
    #expect(result.output.isEmpty)
    #expect(result.errors == "Forecast: --dais is not an option.\nDid you mean --days?\n")
  }

  @Test(arguments: ["--help", "-h"])
  func help_namesEveryOption(_ option: String) async throws {
    let result = try await Tool.run(option)
    #expect(result.status == 0)
    for name in [
      "--server", "--days", "--rate", "--verbose", "--timeline", "--seed", "--date", "--token-uses", "--help", "64",
    ] {
      #expect(result.output.contains(name))
    }
    #expect(result.output.split(separator: "\n").allSatisfy { $0.count <= 120 })
  }
}
#endif
