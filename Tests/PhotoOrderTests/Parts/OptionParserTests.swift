import ExampleSupport
import Testing

@testable import PhotoOrder

@Suite struct OptionParserTests {
  @Test func nothing_meansTheDefaults() throws {
    #expect(try OptionParser.parse([]) == Options())
  }

  @Test func everyOption_isRead_inBothForms() throws {
    var options = Options()
    options.photos = ["a.jpg", "-b.jpg", "--plain"]
    options.output = "out"
    options.mermaid = "graph.mmd"
    options.title = "Our summer"
    options.script = "-"
    options.failure = 0.25
    options.seed = 7
    options.sampleWidth = 64
    options.plain = true
    let values = [
      "--output": "out", "--mermaid": "graph.mmd", "--title": "Our summer", "--script": "-", "--fail": "0.25",
      "--seed": "7",
      "--sample-width": "64",
    ]
    let end = ["--plain", "a.jpg", "--", "-b.jpg", "--plain"]
    #expect(try OptionParser.parse(values.flatMap { [$0.key, $0.value] } + end) == options)
    #expect(try OptionParser.parse(values.map { "\($0.key)=\($0.value)" } + end) == options)
  }

  @Test(arguments: ["--help", "-h"])
  func help_isAnOption(_ option: String) throws {
    #expect(try OptionParser.parse([option]).showsHelp)
  }

  @Test(arguments: [
    (["--fial", "1"], "--fial is not an option.", "Did you mean --fail?"),
    (["-x"], "-x is not an option.", "PhotoOrder --help"),
    (["--output"], "--output needs a value.", "--output my-order"),
    (["--output="], "--output needs a value.", "--output my-order"),
    (["--output", "--plain"], "--output needs a value.", "--output my-order"),
    (["--plain=yes"], "--plain takes no value, but got “yes”.", "Write --plain alone."),
    (["--fail", "2"], "--fail cannot be “2”.", "from 0 to 1, for example: --fail 0.2"),
    (["--fail", "-0.1"], "--fail cannot be “-0.1”.", "from 0 to 1"),
    (["--fail", "nan"], "--fail cannot be “nan”.", "from 0 to 1"),
    (["--seed", "-1"], "--seed cannot be “-1”.", "from 0 on, for example: --seed 7"),
    (["--sample-width", "3"], "--sample-width cannot be “3”.", "from 4 to 10000"),
    (Array(repeating: "a.jpg", count: 10), "10 photos were given.", "One order has up to 9"),
  ])
  func whatIsWrong_isToldWithItsRemedy(_ arguments: [String], _ problem: String, _ remedy: String) {
    let error = #expect(throws: UsageError.self) { try OptionParser.parse(arguments) }
    #expect(error?.problem == problem)
    #expect(error?.remedy.contains(remedy) == true, "\(error?.remedy ?? "")")
  }
}
