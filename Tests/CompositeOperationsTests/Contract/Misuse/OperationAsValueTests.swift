import CompositeOperations
import Foundation
import TestSupport
import Testing

/// A value form whose value type is an `Operation` would make an operation that never runs, so it
/// traps when it is made.
@Suite("4 Value forms trap when their value type is an Operation", .hangLimit)
struct OperationAsValueTests {
  #if os(macOS) || os(Linux)
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
  #endif

  #if os(macOS) || os(Linux)
  @Test("4 An optional operation, in every form whose closure returns the value", arguments: 0...4)
  func optionalOperation_asValue_traps(form: Int) async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [form] in
      let operation: SimpleOperation<Int>? = succeeding(1)
      switch form {
      case 0: _ = succeeding(1).map { _ in operation }
      case 1: _ = succeeding(1).mapAsync { _ async in operation }
      case 2: _ = AsyncOperation { operation }
      case 3: _ = SimpleOperation { operation }
      default: _ = SimpleOperation<BlockOperation??> { $0.finish(with: nil) }
      }
    }
    try expect(result, says: "then(_:)", "Optional<")
  }

  @Test("4 An array of operations, in every form whose closure returns the value", arguments: 0...4)
  func arrayOfOperations_asValue_traps(form: Int) async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [form] in
      let operations = [succeeding(1)]
      switch form {
      case 0: _ = succeeding(1).map { _ in operations }
      case 1: _ = succeeding(1).mapAsync { _ async in operations }
      case 2: _ = AsyncOperation { operations }
      case 3: _ = SimpleOperation { operations }
      default: _ = SimpleOperation<[Operation]?> { $0.finish(with: nil) }
      }
    }
    try expect(result, says: "then(_:)", "all(_:)", "Array<")
  }

  @Test("4 The form of SimpleOperation whose closure returns the value")
  func simpleOperation_returningOperation_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = SimpleOperation { succeeding(1) }
    }
    try expect(result, says: "SimpleOperation", "then")
  }
  #endif

  @Test("4 Other reference types and errors are values like any other")
  func map_toOtherTypes_doesNotTrap() async {
    let named = succeeding(1).map { _ in OperationQueue() }
    #expect(await outcomeOfStarting(named).value != nil)
    let several = succeeding(1).map { _ in [OperationQueue()] as [OperationQueue]? }
    #expect(await outcomeOfStarting(several).value??.count == 1)
    let error = succeeding(1).map { _ in TestError.first }
    #expect(await outcomeOfStarting(error).value == .first)
  }

  #if os(macOS) || os(Linux)
  private func expect(_ result: ExitTest.Result?, says words: String...) throws {
    let message = try #require(result?.standardErrorText)
    #expect(message.contains("never run"), "the cause is missing in: \(message)")
    for word in words { #expect(message.contains(word), "“\(word)” is missing in: \(message)") }
  }
  #endif
}
