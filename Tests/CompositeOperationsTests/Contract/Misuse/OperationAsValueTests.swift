import CompositeOperations
import Foundation
import TestSupport
import Testing

/// A value form whose value type is an `Operation` would make an operation that never runs, so it traps when it is made.
@Suite("4 Value forms trap when their value type is an Operation", .hangLimit)
struct OperationAsValueTests {
  @Test("4 map")
  func map_toOperation_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = succeeding(1).map { succeeding($0) }
    }
    try expect(result, says: "map", "then")
  }

  @Test("4 mapAsync")
  func mapAsync_toOperation_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = succeeding(1).mapAsync { value async in succeeding(value) }
    }
    try expect(result, says: "mapAsync", "then")
  }

  @Test("4 AsyncOperation")
  func asyncOperation_ofOperation_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = AsyncOperation { succeeding(1) }
    }
    try expect(result, says: "AsyncOperation", "SimpleOperation<Int>")
  }

  @Test("4 The closure form of SimpleOperation")
  func simpleOperation_ofOperation_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = SimpleOperation<BlockOperation> { $0.finish(with: BlockOperation {}) }
    }
    try expect(result, says: "SimpleOperation", "BlockOperation")
  }

  @Test("4 Other reference types and errors are values like any other")
  func map_toOtherTypes_doesNotTrap() async {
    let named = succeeding(1).map { _ in OperationQueue() }
    #expect(await outcomeOfStarting(named).value != nil)
    let error = succeeding(1).map { _ in TestError.first }
    #expect(await outcomeOfStarting(error).value == .first)
  }

  private func expect(_ result: ExitTest.Result?, says words: String...) throws {
    let message = try #require(result?.standardErrorText)
    #expect(message.contains("never run"), "the cause is missing in: \(message)")
    for word in words { #expect(message.contains(word), "“\(word)” is missing in: \(message)") }
  }
}
