#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation
import TestSupport
import Testing
import WorkflowOperations

/// Programming errors trap with a sentence that names the thing, the cause and the remedy.
@Suite("4 Bad input", .timeLimit(.minutes(30)))
struct MisuseTests {
  @Test func prerequisite_ofAnotherWorkflow_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let stranger = Workflow("Elsewhere").add("stranger") { succeeding(1) }
      _ = Workflow("Here").add("mine", after: stranger) { succeeding($0) }
    }
    try expect(result, says: "“mine”", "“stranger”", "“Elsewhere”", "“Here”", "same workflow")
  }

  @Test func unkeyedPrerequisite_ofAnotherWorkflow_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let stranger = Workflow("Elsewhere").add("stranger") { succeeding(1) }
      _ = Workflow("Here").addCondition("mine", of: Int.self, after: stranger)
    }
    try expect(result, says: "“mine”", "“stranger”")
  }

  @Test func name_usedTwice_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let workflow = Workflow("Order")
      _ = workflow.add("photo") { succeeding(1) }
      _ = workflow.addCondition("photo", of: Int.self)
    }
    try expect(result, says: "“Order”", "“photo”", "already", "name of its own")
  }

  @Test func name_ofAnUnnamedTask_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let workflow = Workflow("Order")
      _ = workflow.add { succeeding(1) }
      _ = workflow.add("task 1") { succeeding(1) }
    }
    try expect(result, says: "“task 1”", "already")
  }

  @Test func requiredKey_missing_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let workflow = Workflow("Order")
      let user = workflow.add("user") { succeeding(1) }
      _ = workflow.add("bill", keyed: ["user": user], requiredKeys: ["user", "price"]) { _ in succeeding(1) }
    }
    try expect(result, says: "“bill”", "“price”", "“user”", "keyed:")
  }

  @Test func result_readAsWrongType_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let workflow = Workflow("Order")
      let user = workflow.add("user") { succeeding("Ann") }
      _ = workflow.add("bill", keyed: ["owner": user]) { results in succeeding(results["owner", as: Int.self]) }
      try? await workflow.run()
    }
    try expect(result, says: "“bill”", "“owner”", "“user”", "Int", "String")
  }

  @Test func result_readByUnknownKey_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let workflow = Workflow("Order")
      let user = workflow.add("user") { succeeding("Ann") }
      _ = workflow.add("bill", keyed: ["owner": user]) { results in succeeding(results["user", as: String.self]) }
      try? await workflow.run()
    }
    try expect(result, says: "“bill”", "“user”", "“owner”", "keyed:")
  }

  @Test func result_ofAnotherTask_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let workflow = Workflow("Order")
      let user = workflow.add("user") { succeeding("Ann") }
      _ = workflow.add("bill") { (results: PrerequisiteResults) in succeeding(results[user]) }
      try? await workflow.run()
    }
    try expect(result, says: "“bill”", "“user”", "not one of its prerequisites")
  }

  @Test func work_withOperationAsValue_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Workflow("Order").add("bill") { await Task { succeeding(1) }.value }
    }
    try expect(result, says: "“bill”", "never run", "SimpleOperation<Int>", "operation:")
  }

  @Test func operation_withOperationAsValue_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Workflow("Order").add("bill") { ConformingOperation<BlockOperation> { .success(BlockOperation {}) } }
    }
    try expect(result, says: "“bill”", "never run", "BlockOperation", "then(_:)")
  }

  @Test func keyedOperation_withOperationAsValue_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Workflow("Order").add("bill") { (_: PrerequisiteResults) in
        ConformingOperation<BlockOperation> { .success(BlockOperation {}) }
      }
    }
    try expect(result, says: "“bill”", "never run", "BlockOperation", "then(_:)")
  }

  @Test func keyedWork_withOperationAsValue_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Workflow("Order").add("bill") { (_: PrerequisiteResults) in await Task { BlockOperation {} }.value }
    }
    try expect(result, says: "“bill”", "never run", "BlockOperation", "operation:")
  }

  @Test func condition_withOperationAsValue_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Workflow("Order").addCondition("bill", of: BlockOperation.self)
    }
    try expect(result, says: "“bill”", "never run", "BlockOperation", "Fulfil it")
  }

  @Test func subworkflow_addedTwice_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let audit = Workflow("Audit")
      let first = Workflow("First")
      _ = first.addSubworkflow("audit", audit)
      _ = Workflow("Second").addSubworkflow("again", audit)
      withExtendedLifetime(first) {}
    }
    try expect(result, says: "“again”", "“Audit”", "“First”", "one place")
  }

  @Test func subworkflow_insideItself_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let outer = Workflow("Outer")
      let inner = Workflow("Inner")
      _ = outer.addSubworkflow("inner", inner)
      _ = inner.addSubworkflow("outer", outer)
    }
    try expect(result, says: "“outer”", "“Outer”", "inside of itself")
  }

  @Test(arguments: [0, -2])
  func limit_ofNothing_traps(limit: Int) async throws {
    let result =
      limit == 0
      ? await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        Workflow("Order").maxConcurrentOperationCount = 0
      }
      : await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        Workflow("Order").maxConcurrentOperationCount = -2
      }
    try expect(result, says: "maxConcurrentOperationCount", "“Order”", "\(limit)", "1 or more")
  }

  private func expect(_ result: ExitTest.Result?, says words: String...) throws {
    let content = try #require(result?.standardErrorContent)
    let message = String(decoding: content, as: UTF8.self)
    for word in words { #expect(message.contains(word), "“\(word)” is missing in: \(message)") }
  }
}
#endif
