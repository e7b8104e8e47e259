import Foundation
import Testing

@testable import DurableOperations

@Suite("The line that Linux has for a process", .timeLimit(.minutes(30)))
struct ProcessStatTests {
  private func line(
    _ name: [UInt8], state: String = "S", threads: Int = 4, start: Int64 = 123_456_789
  ) -> [UInt8] {
    let rest =
      ") \(state) 1 4242 4242 0 -1 4194560 812 0 0 0 10 5 0 0 20 0 \(threads) 0 \(start) 250000 900 18446744073709551615\n"
    return Array("4242 (".utf8) + name + Array(rest.utf8)
  }

  @Test(
    "The program's name may hold anything",
    arguments: [
      "swift", "", " ", "(", ")", "a b", "a) Z 1 (b", ") R 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9", "tab\tline\nend",
      "((()))",
      "\u{301}x", "日本語",
    ])
  func name_isSkipped(name: String) throws {
    let stat = try #require(ProcessStat(line: line(Array(name.utf8))))
    #expect(stat.processID == 4242 && stat.state == "S" && stat.threadCount == 4 && stat.startTime == 123_456_789)
  }

  @Test("The program's name need not be text")
  func name_ofOtherBytes_isSkipped() throws {
    let stat = try #require(ProcessStat(line: line([0xFF, 0xC3, 0x28, 0x29, 0xE2])))
    #expect(stat.startTime == 123_456_789)
  }

  @Test(
    "What is no such line is nil",
    arguments: ["", "4242", "4242 (swift", "4242 swift) S", ")(", "4242 (swift) S 1 2 3", "x (swift) S 1", "() \n"])
  func otherText_isNil(text: String) {
    #expect(ProcessStat(line: Array(text.utf8)) == nil)
  }

  @Test("A line with a number that is none is nil")
  func brokenNumbers_areNil() {
    let text = String(decoding: line(Array("swift".utf8)), as: UTF8.self)
    #expect(ProcessStat(line: Array(text.replacing("123456789", with: "soon").utf8)) == nil)
    #expect(ProcessStat(line: Array(text.replacing("123456789", with: "99999999999999999999").utf8)) == nil)
    #expect(ProcessStat(line: Array(text.replacing(" S ", with: " SS ").utf8)) == nil)
  }

  @Test("A process has ended if it is a zombie with all of its threads")
  func states_tellWhetherItEnded() throws {
    for (state, threads, hasEnded) in [
      ("R", 1, false), ("S", 1, false), ("D", 1, false), ("T", 1, false), ("I", 1, false), ("Z", 1, true),
      ("Z", 0, true),
      ("X", 1, true), ("Z", 5, false),
    ] {
      let stat = try #require(ProcessStat(line: line(Array("a".utf8), state: state, threads: threads)))
      #expect(stat.hasEnded == hasEnded, "\(state) \(threads)")
    }
  }
}
