import Testing

@testable import HTTPOperations

/// The header of an answer, line by line.
@Suite("HTTP: reading a header") struct HTTPHeadParserTests {
  private typealias Parser = HTTPHeadParser

  /// The headers that come out of lines, each of which gets its end.
  private func heads(_ lines: String..., limit: Int = 1_000) throws -> [Parser.Head] {
    var parser = Parser(limit: limit)
    return try lines.compactMap { try parser.take(($0 + "\r\n").utf8) }
  }

  private func mistake(_ lines: String...) -> Parser.Mistake? {
    var parser = Parser(limit: 1_000)
    do throws(Parser.Mistake) {
      for line in lines { _ = try parser.take((line + "\r\n").utf8) }
      return nil
    } catch {
      return error
    }
  }

  private func isMalformed(_ mistake: Parser.Mistake?) -> Bool {
    if case .malformed = mistake { true } else { false }
  }

  @Test func interimAnswers_areNotTheAnswer_norIsATrailer() throws {
    var parser = Parser(limit: 1_000)
    for line in ["HTTP/1.1 100 Continue", "X: interim", "", "HTTP/1.1 103 Early Hints", ""] {
      #expect(try parser.take(line.utf8) == nil && !parser.hasEnded)
    }
    #expect(try parser.take("HTTP/1.1 200 OK".utf8) == nil && !parser.hasEnded)
    #expect(try parser.take("".utf8) == Parser.Head(status: 200, headers: [:]) && parser.hasEnded)
    #expect(try parser.take("X-Trailer: v".utf8) == nil && parser.hasEnded)
    #expect(try parser.take("".utf8) == nil && parser.hasEnded)
  }

  @Test func secondAnswer_toTheSameRequest_isTheAnswer() throws {
    let heads = try heads("HTTP/1.1 401 No", "X: 1", "", "HTTP/1.1 200 OK", "Y: 2", "")
    #expect(heads.map(\.status) == [401, 200] && heads[1].headers == ["Y": "2"])
  }

  @Test func fields_areJoined_andCookiesKeptApart() throws {
    let head = try heads(
      "HTTP/1.1 200", "Accept:  a \t", "accept:b", "Set-Cookie: x=1, 2", "SET-COOKIE: y=3", "Long: one", "\t two ", "")[
        0]
    #expect(head.headers["Accept"] == "a, b" && head.headers["long"] == "one two")
    #expect(head.cookies == ["x=1, 2", "y=3"])
  }

  @Test func ends_ofLines_mayBeBare_andBytesLatin1() throws {
    var parser = Parser(limit: 1_000)
    #expect(try parser.take("HTTP/1.0 200 OK\n".utf8) == nil)
    #expect(try parser.take(Array("X: ".utf8) + [0xE9, 0x0A]) == nil)
    #expect(try parser.take("Y: \u{E9}\n".utf8) == nil)
    let head = try parser.take("\n".utf8)
    #expect(head?.headers == ["X": "\u{E9}", "Y": "\u{E9}"])
  }

  @Test func length_isWhatTheFieldsAgreeOn_unlessThereAreChunks() throws {
    func length(_ fields: String...) throws -> Int? {
      var parser = Parser(limit: 1_000)
      return try (["HTTP/1.1 200 OK"] + fields + [""]).compactMap { try parser.take($0.utf8) }.first?.length
    }
    #expect(try length("Content-Length: 5") == 5 && length("Content-Length: 5", "content-length: 5") == 5)
    #expect(try length() == nil && length("Content-Length: 99999999999999999999999") == nil)
    #expect(try length("Content-Length: 9223372036854775807") == .max)
    #expect(try length("Transfer-Encoding: chunked", "Content-Length: -7") == nil)
    for wrong in ["-1", "+1", "", "0x10", "5 5", "1.0"] {
      #expect(isMalformed(mistake("HTTP/1.1 200 OK", "Content-Length: \(wrong)", "")), "\(wrong)")
    }
    #expect(isMalformed(mistake("HTTP/1.1 200 OK", "Content-Length: 5", "Content-Length: 6", "")))
  }

  @Test(arguments: [
    "HTTP/1.1", "HTTP/1.1 20", "HTTP/1.1 2000", "HTTP/1.1 099", "HTTP/1.1 abc", "ICY 200 OK", "", "200 OK",
  ])
  func firstLine_thatIsNone(_ line: String) {
    #expect(isMalformed(mistake(line)))
  }

  @Test(arguments: ["no colon", ": v", "a b: v", " begins with a space", "X\u{7F}: v", "X: a\0b"])
  func field_thatIsNone(_ line: String) {
    #expect(isMalformed(mistake("HTTP/1.1 200 OK", line)))
  }

  @Test func lineThatGoesOn_hasNoControlCharactersEither() throws {
    #expect(isMalformed(mistake("HTTP/1.1 200 OK", "X: a", " b\0c")))
    #expect(try heads("HTTP/1.1 200 OK", "X: a\rb", " c\rd", "")[0].headers["X"] == "a b c d")
  }

  @Test func version_saysWhetherManyRequestsAreTaken() throws {
    #expect(try heads("HTTP/2 200", "")[0].isMultiplexed && heads("HTTP/3 200 ", "")[0].isMultiplexed)
    #expect(try !heads("HTTP/1.1 200 OK", "")[0].isMultiplexed)
  }

  @Test func limit_isForAllLines_alsoInterimOnesAndTrailers() throws {
    // 17 + 2 bytes, and so on.
    #expect(try heads("HTTP/1.1 200 OK", "", limit: 19).count == 1)
    #expect(throws: Parser.Mistake.tooLarge) { try heads("HTTP/1.1 200 OK", "", limit: 18) }
    #expect(throws: Parser.Mistake.tooLarge) { try heads("HTTP/1.1 102 P", "", "HTTP/1.1 200 OK", "", limit: 36) }
    #expect(throws: Parser.Mistake.tooLarge) { try heads("HTTP/1.1 200 OK", "", "X: 1", limit: 24) }
  }
}
