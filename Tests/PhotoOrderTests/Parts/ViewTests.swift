import Foundation
import Testing

@testable import PhotoOrder

@Suite struct ViewTests {
  private let folder: TemporaryFolder
  private let output: Output
  private let table = OrderTable(
    rows: [Row(name: "Create Project", standing: .ready, progress: 0, elapsed: nil, note: "")], symbols: .ascii)

  init() throws {
    folder = try TemporaryFolder(["output": ""])
    output = Output(to: try FileHandle(forWritingTo: URL(fileURLWithPath: folder.path + "/output")))
  }

  /// What draws lines: the terminal wraps none of them meanwhile, for characters may be wide.
  private func drawing(_ lines: [String]) -> String {
    "\u{1B}[?7l" + lines.map { $0 + "\u{1B}[K\n" }.joined() + "\u{1B}[J\u{1B}[?7h"
  }

  private func written() throws -> String { try folder.text("output") }

  @Test func liveView_drawsInThePlaceOfWhatItDrew_andOnlyWhatHasChanged() throws {
    let view = LiveView(output, keys: ["q leave"], size: { (60, 24) })
    view.update(table, title: "Order")
    let lines = ["Order"] + table.lines(width: 59) + ["", "q leave"]
    let first = drawing(lines)
    #expect(try written() == first)
    view.update(table, title: "Order")
    #expect(try written() == first)
    view.say("something")
    view.update(table, title: "Order")
    #expect(try written().dropFirst(first.count).hasPrefix("\r\u{1B}[5A\u{1B}[?7lOrder\u{1B}[K\n"))
    #expect(try written().hasSuffix("something\u{1B}[K\nq leave\u{1B}[K\n\u{1B}[J\u{1B}[?7h"))
    view.end()
    #expect(try written().hasSuffix("something\u{1B}[K\n\u{1B}[J\u{1B}[?7h"))
  }

  @Test func liveView_inASmallWindow_leavesOutTheKeysAndCutsLines() throws {
    let view = LiveView(output, keys: ["q leave"], size: { (20, 5) })
    view.update(table, title: "A title that is longer than that")
    let lines = try written().split(separator: "\n").map { $0.replacing(/\u{1B}\[(K|J|\?7[lh])/, with: "") }
    #expect(lines.allSatisfy { $0.count < 20 })
    #expect(lines.count < 6 && !lines.contains("q leave"))
  }

  @Test func plainView_printsLinesAndATableWhenAsked() throws {
    let view = PlainView(output)
    view.update(table, title: "Order")
    view.say("something")
    #expect(try written() == "something\n")
    view.show(table)
    #expect(try written().contains("Create Project  ready"))
    #expect(try !written().contains("\u{1B}"))
  }

  @Test func output_thatFails_isRememberedWithItsReason() throws {
    let output = Output(to: try FileHandle(forReadingFrom: URL(fileURLWithPath: folder.path + "/output")))
    output.write("text")
    #expect(output.failure.map { "\($0)" }?.contains("(Bad file descriptor)") == true)
  }
}
