import CompositeOperations
import Foundation
import PipelineOperations
import TestSupport
import Testing

@Suite("ParseJSON", .timeLimit(.minutes(30)))
struct JSONParserTests {
  private func parse(_ text: String) async throws -> JSONValue? {
    try await ParseJSON().run(Data(text.utf8))
  }

  private func mistake(_ data: Data) async throws -> JSONSyntaxError? {
    try await outcome(of: ParseJSON(), for: data).error as? JSONSyntaxError
  }

  @Test("An empty body is nil, and null is a value") func emptyBody_isNil() async throws {
    #expect(try await ParseJSON().run(Data()) == nil)
    #expect(try await parse("null") == .null)
  }

  @Test func document_ofEverything_isParsed() async throws {
    let text =
      #" {"a": [1, -2, 3.5, 1e3, 0, -0.0, true, false, null], "b\u00e9\n": "\ud83d\ude00 é/\/", "c": {}, "d": []} "#
    let expected: JSONValue = [
      "a": [1, -2, 3.5, 1000.0, 0, -0.0, true, false, .null], "bé\n": "😀 é//", "c": [:], "d": [],
    ]
    #expect(try await parse(text) == expected)
    #expect(try await parse("\u{FEFF}[1]") == [1])
    #expect(try await parse("\"\\\"\\\\\\b\\f\\r\\t\"") == "\"\\\u{8}\u{C}\r\t")
  }

  @Test func numbers_keepWhatTheyAre() async throws {
    #expect(try await parse("9223372036854775807") == .integer(.max))
    #expect(try await parse("9223372036854775808") == .number(9223372036854775808))
    #expect(try await parse("1.0") == .number(1))
    #expect(try await parse("1") == .integer(1))
    let numbers = try #require(try await parse("[1.0, 1.5, 2]"))
    #expect(numbers[0]?.int == 1 && numbers[1]?.int == nil && numbers[2]?.double == 2)
  }

  @Test func accessors_giveTheParts() async throws {
    let json = try #require(
      try await parse(#"{"days": [{"t": 1.5}], "name": "x", "on": true, "none": null, "twice": 1, "twice": 2}"#))
    #expect(json["days"]?[0]?["t"]?.double == 1.5 && json["days"]?[1] == nil && json["days"]?["t"] == nil)
    #expect(json["name"]?.string == "x" && json["on"]?.bool == true && json["none"] == .null && json[0] == nil)
    #expect(json["days"]?.array?.count == 1 && json.object?.count == 5 && json["twice"] == 2)
    #expect(json.string == nil && json.bool == nil && json.array == nil && json["name"]?.object == nil)
    #expect(json["name"]?.double == nil && json != .null)
  }

  struct Malformed: Sendable, CustomTestStringConvertible {
    let text: String
    let offset: Int
    let code: JSONSyntaxError.Code

    init(_ text: String, _ offset: Int, _ code: JSONSyntaxError.Code) {
      (self.text, self.offset, self.code) = (text, offset, code)
    }

    var testDescription: String { text }
  }

  static let malformed = [
    Malformed(" ", 1, .unexpectedEnd), Malformed("{", 1, .unexpectedEnd), Malformed("[1,", 3, .unexpectedEnd),
    Malformed("[1 2]", 3, .unexpectedCharacter), Malformed("[1,]", 3, .unexpectedCharacter),
    Malformed("{\"a\" 1}", 5, .unexpectedCharacter), Malformed("{\"a\":}", 5, .unexpectedCharacter),
    Malformed("{\"a\":1,}", 7, .unexpectedCharacter), Malformed("{a:1}", 1, .unexpectedCharacter),
    Malformed("{\"a\":1", 6, .unexpectedEnd), Malformed("'a'", 0, .unexpectedCharacter),
    Malformed("trux", 3, .unexpectedCharacter), Malformed("tru", 3, .unexpectedEnd),
    Malformed("[1] x", 4, .trailingContent), Malformed("1 2", 2, .trailingContent),
    Malformed("01", 1, .invalidNumber), Malformed("-", 1, .unexpectedEnd), Malformed("-x", 1, .invalidNumber),
    Malformed("1.", 2, .unexpectedEnd), Malformed("1.x", 2, .invalidNumber), Malformed("[1e]", 3, .invalidNumber),
    Malformed("+1", 0, .unexpectedCharacter), Malformed("NaN", 0, .unexpectedCharacter),
    Malformed("[1e999]", 1, .invalidNumber), Malformed("\"a", 2, .unexpectedEnd),
    Malformed("\"a\\", 3, .unexpectedEnd), Malformed("\"a\\x\"", 2, .invalidString),
    Malformed("\"\\u12g4\"", 1, .invalidString), Malformed("\"\\u12", 5, .unexpectedEnd),
    Malformed("\"\\ud800\"", 1, .invalidString), Malformed("\"\\ud800\\u0041\"", 1, .invalidString),
    Malformed("\"\\udc00\"", 1, .invalidString), Malformed("\"a\nb\"", 2, .invalidString),
    Malformed("é", 0, .unexpectedCharacter), Malformed("[\"é\" é]", 6, .unexpectedCharacter),
  ]

  @Test("Malformed JSON is an error with the byte of the first mistake", arguments: malformed)
  func malformed_tellsTheByte(_ malformed: Malformed) async throws {
    let error = try await mistake(Data(malformed.text.utf8))
    #expect(error?.byteOffset == malformed.offset && error?.code == malformed.code, "\(String(describing: error))")
  }

  @Test func malformed_tellsLineAndColumn_inASentence() async throws {
    let error = try #require(try await mistake(Data("{\n  \"a\": 1,\n  \"b\" 2\n}".utf8)))
    #expect(error.byteOffset == 18 && error.line == 3 && error.column == 7)
    #expect(
      error.localizedDescription
        == "The JSON is malformed at byte 18 (line 3, column 7): a colon after the name “b” is "
        + "expected, but “2” was found.")
    #expect(try await mistake(Data([0x5B, 0x01]))?.reason.contains("a control character (1)") == true)
    #expect(try await mistake(Data([0x5B, 0xFF]))?.reason.contains("not UTF-8") == true)
  }

  @Test func bytes_thatAreNotUTF8_areAnErrorAtTheirPlace() async throws {
    let error = try await mistake(Data([0x22, 0x61, 0xC3, 0xA9, 0xC3, 0x28, 0x22]))
    #expect(error?.code == .invalidEncoding && error?.byteOffset == 4)
    let cut = try await mistake(Data([0x22, 0xE2, 0x82]))
    #expect(cut?.code == .invalidEncoding && cut?.byteOffset == 1)
  }

  @Test func nesting_isLimited_onASmallStack() async throws {
    func nested(_ depth: Int) -> Data {
      Data((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
    }
    let (fits, error) = await onThread(stackSize: 512 * 1024) { [fit = nested(512), deep = nested(100_000)] in
      let operations = [fit, deep].map { ParseJSON().operation(for: $0) }
      for operation in operations { operation.start() }
      return (operations[0].error == nil, operations[1].error as? JSONSyntaxError)
    }
    #expect(fits && error?.code == .tooDeep && error?.byteOffset == 512)
  }

  @Test("Random bytes never trap, and Foundation accepts what is accepted")
  func randomBytes_neverTrap() async throws {
    var random = SeededRandomNumberGenerator(seed: 7)
    let alphabet = Array(#"{}[]",:0123.-eE\utrfalsn "#.utf8) + [0x0A, 0xC3, 0xA9, 0xFF]
    for _ in 0..<3_000 {
      let data = Data((0..<Int.random(in: 1...12, using: &random)).map { _ in alphabet.randomElement(using: &random)! })
      let operation = ParseJSON().operation(for: data)
      operation.start()
      if operation.error == nil {
        #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed) }
      } else {
        let error = try #require(operation.error as? JSONSyntaxError)
        #expect((0...data.count).contains(error.byteOffset))
      }
    }
  }
}
