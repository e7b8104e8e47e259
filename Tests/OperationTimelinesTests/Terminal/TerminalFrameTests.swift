import CompositeOperations
import Foundation
import TestSupport
import Testing

@testable import OperationTimelines

/// From snapshots to text, and from text to what a terminal is sent.
@Suite("Terminal: frames")
struct TerminalFrameTests {
  private static let snapshot = TerminalSnapshot(
    rows: [
      .init(title: "Upload", fraction: 0.5, counts: .init(done: 5, total: 10), elapsed: .seconds(67)),
      .init(depth: 1, title: "photo-18", fraction: 1, elapsed: .seconds(7)),
      .init(depth: 1, title: "photo-19", elapsed: .seconds(3661)),
      .init(title: "Later"),
    ], hiddenCount: 3, tick: 1)

  @Test func frame_asText_showsBarsIndentedWithTimes() {
    let lines = TerminalFrame(theme: .ascii, width: 60).lines(of: TerminalFrameTests.snapshot)
    #expect(
      lines == [
        "/ Upload     #############..............   50 %  5/10  1:07",
        "/   photo-18 ###########################  100 %  0:07",
        "/   photo-19                              1:01:01",
        "  Later                                   waiting",
        "  ~ and 3 more",
      ])
  }

  @Test func frame_atAnyWidth_staysWithinIt() {
    var random = SeededRandomNumberGenerator(seed: 7)
    for width in 1...140 {
      for theme in [TerminalTheme.ascii, .unicode] {
        var snapshot = TerminalFrameTests.snapshot
        snapshot.tick = random.number(0...1000)
        snapshot.rows.append(.init(depth: random.number(0...40), title: "写真をアップロード 📷📷", fraction: 0.3, elapsed: .zero))
        for line in TerminalFrame(theme: theme, width: width).lines(of: snapshot) {
          #expect(TerminalText.width(line) < max(2, width), "“\(line)” in \(width)")
        }
      }
    }
  }

  @Test func frame_fractionsOutOfBounds_stayWithinTheBar() {
    let frame = TerminalFrame(theme: .ascii, width: 80)
    for fraction in [0, 0.999, 1.0] {
      let lines = frame.lines(of: TerminalSnapshot(rows: [.init(title: "a", fraction: fraction, elapsed: .zero)]))
      #expect(lines[0].count { $0 == "#" || $0 == "." } == 30)
      #expect(lines[0].contains("100 %") == (fraction == 1))
    }
  }

  @Test func percentage_ofCounts_isTheirs() {
    let frame = TerminalFrame(theme: .ascii, width: 80)
    for total in [100, 1000] {
      for done in 0...total {
        let fraction = Double(done) / Double(total)
        let counts = TerminalSnapshot.Counts(done: done, total: total)
        let line = frame.line(of: .init(title: "a", fraction: fraction, counts: counts, elapsed: .zero))
        #expect(line == "a: \(done * 100 / total) %  \(done)/\(total)  0:00")
      }
    }
    #expect(frame.line(of: .init(title: "a", fraction: 1.nextDown, elapsed: .zero)) == "a: 99 %  0:00")
  }

  @Test func text_withControlCharacters_isHarmless() {
    let text = "a\u{1B}[31mb\nc\td\r\u{7}e\u{202E}f\u{2028}g\u{0}\u{9B}h"
    let harmless = HarmlessText.line(text)
    #expect(harmless == "a\u{FFFD}[31mb c d \u{FFFD}e\u{FFFD}f g\u{FFFD}\u{FFFD}h")
    #expect(!harmless.unicodeScalars.contains { $0.value < 32 || 0x7F...0x9F ~= $0.value })
  }

  @Test("Joiners stay: emoji and Persian words need them")
  func text_withJoiners_staysAsItIs() {
    let flag = "🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}"
    for text in ["👨‍👩‍👧‍👦", "🏳️‍🌈", "می\u{200C}خواهم", "نشر", flag] { #expect(HarmlessText.line(text) == text) }
    #expect(HarmlessText.line("a\u{2066}b\u{200F}c\u{FEFF}") == "a\u{FFFD}b\u{FFFD}c\u{FFFD}")
    let lines = TerminalFrame(theme: .ascii, width: 80)
      .lines(of: TerminalSnapshot(rows: [.init(title: "👨‍👩‍👧‍👦 می\u{200C}خواهم", fraction: 0, elapsed: .zero)]))
    #expect(lines[0].contains("👨‍👩‍👧‍👦 می\u{200C}خواهم"))
  }

  @Test(
    "A string of JSON is read as the same text, and a terminal obeys nothing in it",
    arguments: [
      ("", "", ""), ("plain é 👨‍👩‍👧‍👦", "plain é 👨‍👩‍👧‍👦", "plain é 👨‍👩‍👧‍👦"),
      ("\"\\/\n\r\t", #"\"\\/\n\r\t"#, #"\"\\/\n\r\t"#), ("\r\n", #"\r\n"#, #"\r\n"#),
      ("\u{0}\u{1B}[1m\u{7F}\u{9B}", #"\u0000\u001b[1m\u007f\u009b"#, #"\u0000\u001b[1m\u007f\u009b"#),
      ("a\u{202E}b\u{2028}\u{FEFF}", #"a\u202eb\u2028\ufeff"#, #"a\u202eb\u2028\ufeff"#),
      ("</script>&'", "</script>&'", #"\u003c/script\u003e\u0026\u0027"#),
    ])
  func quotedJSON_ofAnyText_isHarmless(text: String, terminal: String, page: String) throws {
    #expect(HarmlessText.quotedJSON(text) == "\"\(terminal)\"")
    #expect(HarmlessText.quotedJSON(text, isForPage: true) == "\"\(page)\"")
    for json in [terminal, page] {
      #expect(try JSONDecoder().decode([String].self, from: Data("[\"\(json)\"]".utf8)) == [text])
    }
  }

  @Test func json_withCharactersThatATerminalObeys_keepsTheRest() {
    #expect(HarmlessText.json("{\n  \"é\": 1\n}") == "{\n  \"é\": 1\n}")
    #expect(HarmlessText.json("[\"a\u{9B}\u{7F}é\u{202E}\"]\n") == "[\"a\\u009b\\u007fé\\u202e\"]\n")
    #expect(HarmlessText.json("") == "")
  }

  @Test func text_withWideAndCombiningCharacters_hasItsWidth() {
    #expect(TerminalText.width("abc") == 3)
    #expect(TerminalText.width("e\u{301}") == 1)
    #expect(TerminalText.width("日本") == 4)
    #expect(TerminalText.width("📷") == 2)
    #expect(TerminalText.cut("日本語", to: 4, mark: "~") == "日~")
    #expect(TerminalText.fitted("ab", to: 4, mark: "~") == "ab  ")
    #expect(TerminalText.cut("abc", to: 0, mark: "~") == "")
  }

  @Test func line_ofEnd_saysHow() {
    let frame = TerminalFrame(theme: .ascii, width: 80)
    #expect(frame.line(title: "a", outcome: .success(1), elapsed: .seconds(5)) == "+ a (0:05)")
    #expect(frame.line(title: "a\u{1B}", outcome: .cancelled, elapsed: nil) == "- a\u{FFFD}: cancelled")
    #expect(
      frame.line(title: "a", outcome: .failure(TestError("x\ny")), elapsed: .zero) == "x a (0:00): test error x\ny")
  }

  @Test func line_ofFailure_isTheSentenceOfTheError_cutToTheWidth() {
    struct Refused: LocalizedError {
      var errorDescription: String? { "the host did not answer\n  \u{1B}[31m1234567890123456789012345678901234567890" }
    }
    let narrow = TerminalFrame(theme: .ascii, width: 36)
    #expect(
      narrow.line(title: "fetch", outcome: .failure(Refused()), elapsed: .zero)
        == "x fetch (0:00): the host did not an~\n  \u{FFFD}[31m1234567890123456789012345678~")
    let file = TerminalFrame(theme: .ascii, width: 0)
    #expect(
      file.line(title: "fetch", outcome: .failure(Refused()), elapsed: .zero).hasPrefix(
        "x fetch (0:00): the host did not answer\n"))
  }

  /// A terminal that knows the escapes that are used.
  private struct Screen {
    var lines: [String] = [""]
    var row = 0
    var isCursorHidden = false

    mutating func feed(_ text: String) {
      var rest = Substring(text)
      while let character = rest.popFirst() {
        switch character {
        case "\n":
          row += 1
          if row == lines.count { lines.append("") }
        case "\r": break
        case "\u{1B}":
          let end = rest.dropFirst().firstIndex { $0.isLetter }!
          let code = rest[rest.index(after: rest.startIndex)...end]
          rest = rest[rest.index(after: end)...]
          switch code {
          case "2K": lines[row] = ""
          case "J":
            lines.removeSubrange((row + 1)...)
            lines[row] = ""
          case "?25l": isCursorHidden = true
          case "?25h": isCursorHidden = false
          case "?7l", "?7h": break
          default: row -= Int(code.dropLast())!
          }
        default: lines[row].append(character)
        }
      }
    }
  }

  @Test func screen_afterDrawingAndPrinting_showsTheLastLinesBelowWhatWasPrinted() {
    var random = SeededRandomNumberGenerator(seed: 3)
    for _ in 0..<300 {
      var screen = TerminalScreen()
      var terminal = Screen()
      var printed: [String] = []
      var drawn: [String] = []
      for step in 0..<random.number(1...20) {
        if random.chance(40) {
          printed.append("printed \(step)")
          terminal.feed(screen.print("printed \(step)"))
        } else {
          drawn = (0..<random.number(0...5)).map { "\(step) bar \($0)" }
          terminal.feed(screen.draw(drawn))
        }
        #expect(terminal.lines == printed + drawn + [""] && terminal.isCursorHidden == !drawn.isEmpty)
      }
      terminal.feed(screen.finish())
      #expect(terminal.lines == printed + [""] && !terminal.isCursorHidden)
      #expect(screen.finish() == "")
    }
  }
}
