#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("8 Progress: what traps", .hangLimit)
struct ProgressMisuseTests {
  @Test func report_notANumber_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let operation = succeeding(1, named: "copy")
      operation.reportProgress(.nan)
    }
    try expect(result, says: "“copy”", "not a number", "Check")
  }

  @Test func weight_negative_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      succeeding(1, named: "copy").progressWeight = -1
    }
    try expect(result, says: "“copy”", "-1.0", "not negative")
  }

  @Test func weight_notFinite_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      succeeding(1, named: "copy").progressWeight = .infinity
    }
    try expect(result, says: "“copy”", "inf", "finite")
    let other = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      succeeding(1, named: "copy").progressWeight = .nan
    }
    try expect(other, says: "“copy”", "nan", "finite")
  }

  private func expect(_ result: ExitTest.Result?, says words: String...) throws {
    let result = try #require(result)
    let text = String(decoding: result.standardErrorContent, as: UTF8.self)
    for word in words { #expect(text.contains(word), "“\(word)” is missing in: \(text)") }
  }
}
#endif
