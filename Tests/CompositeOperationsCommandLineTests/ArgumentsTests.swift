import CompositeOperationsCommandLine
import Foundation
import Testing

@Suite(.timeLimit(.minutes(30))) struct ArgumentsTests {
  private static let options: Arguments.Options = [
    "--width": "8", "--share": "0.5", "--server": "http://h", "--verbose": nil, "--help": nil,
  ]

  private func parse(_ arguments: String..., command: String? = nil) throws(UsageError) -> Arguments {
    try Arguments(
      arguments, options: Self.options, shortNames: ["-v": "--verbose"], command: command, help: "See --help.")
  }

  @Test func words_andOptionsInBothForms_areRead() throws {
    let parsed = try parse("a", "--width", "3", "b", "--share=0.25", "-v", "-", "-5", "-5,3", "--", "--width", "-x")
    #expect(parsed.words == ["a", "b", "-", "-5", "-5,3", "--width", "-x"])
    #expect(parsed.value("--width") == "3")
    #expect(parsed.value("--share") == "0.25")
    #expect(parsed.has("--verbose") && !parsed.has("--help"))
    #expect(try parse("-h").has("--help"))
  }

  @Test func optionThatIsGivenSeveralTimes_hasAllValues_andTheLast() throws {
    let parsed = try parse("--width", "3", "--width=4")
    #expect(parsed.values("--width") == ["3", "4"])
    #expect(parsed.value("--width") == "4")
    #expect(parsed.values("--share") == [])
  }

  @Test(arguments: [
    (["--widht", "3"], "--widht is not an option.", "Did you mean --width?"),
    (["-x"], "-x is not an option.", "See --help."),
    (["-inf"], "-inf is not an option.", "See --help."),
    (["--width"], "--width needs a value.", "For example: --width 8"),
    (["--width="], "--width needs a value.", "For example: --width 8"),
    (["--width", "--verbose"], "--width needs a value.", "For example: --width 8"),
    (["--verbose=yes"], "--verbose takes no value, but got “yes”.", "Write --verbose alone."),
    (["-v=yes"], "--verbose takes no value, but got “yes”.", "Write --verbose alone."),
  ])
  func whatIsWrong_isToldWithItsRemedy(_ arguments: [String], _ problem: String, _ remedy: String) {
    let error = #expect(throws: UsageError.self) {
      try Arguments(arguments, options: Self.options, shortNames: ["-v": "--verbose"], help: "See --help.")
    }
    #expect(error == UsageError(problem: problem, remedy: remedy))
  }

  @Test func commandThatHasNoSuchOption_isNamed() {
    let error = #expect(throws: UsageError.self) { try parse("--all", command: "list") }
    #expect(error?.problem == "--all is not an option of list.")
  }

  @Test(arguments: ["0", "-3", "11", "2.5", "x"]) func wholeNumber_outsideItsRange_isReported(_ value: String) throws {
    let parsed = try parse("--width", value)
    let error = #expect(throws: UsageError.self) { try parsed.integer("--width", in: 1...10) }
    #expect(error?.problem == "--width cannot be “\(value)”.")
    #expect(error?.remedy == "Give a whole number from 1 to 10, for example: --width 8")
  }

  @Test func wholeNumbers_areRead() throws {
    #expect(try parse("--width", "10").integer("--width", in: 1...10) == 10)
    #expect(try parse().integer("--width", in: 1...10) == nil)
    let largest = try parse("--width", "\(UInt64.max)")
    #expect(try largest.integer("--width", in: 0...UInt64.max) == UInt64.max)
    let error = #expect(throws: UsageError.self) { try parse("--width=-1").integer("--width", in: 0...UInt64.max) }
    #expect(error?.remedy == "Give a whole number from 0 on, for example: --width 8")
  }

  @Test(arguments: ["1.5", "-0.1", "nan", "inf", "x"]) func number_outsideItsRange_isReported(_ value: String) throws {
    let parsed = try parse("--share", value)
    let error = #expect(throws: UsageError.self) { try parsed.number("--share", in: 0...0.9, meaning: "a share") }
    #expect(error?.problem == "--share cannot be “\(value)”.")
    #expect(error?.remedy == "Give a share from 0 to 0.9, for example: --share 0.5")
  }

  @Test(arguments: ["127.0.0.1", "ftp://h", "http://", "http:"]) func addressThatIsNone_isTold(_ value: String) throws {
    let parsed = try parse("--server", value)
    let error = #expect(throws: UsageError.self) { try parsed.webAddress("--server") }
    #expect(error?.remedy == "Give an http or https address, for example: --server http://h")
  }

  @Test func addresses_areRead() throws {
    #expect(try parse("--server", "HTTPS://h:1/p").webAddress("--server") == URL(string: "HTTPS://h:1/p"))
    #expect(try parse().webAddress("--server") == nil)
  }
}
