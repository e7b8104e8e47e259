#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation
import TestSupport
import Testing

#if DEBUG
/// Each body runs in a process of its own that must end well: the diagnosis is a message, not a
/// trap.
@Suite("3.1.7 An operation released while executing is diagnosed", .hangLimit)
struct DroppedWhileExecutingTests {
  @Test("3.1.7 The message names the operation and where it was made")
  func release_whileExecuting_namesOperationAndPlace() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      let operation = SimpleOperation<Int> { _ in }
      operation.name = "upload of the forgotten file"
      operation.start()
    }
    let message = try #require(result?.standardErrorText)
    #expect(message.contains("upload of the forgotten file"))
    #expect(message.contains("DroppedWhileExecutingTests.swift"))
  }

  @Test("3.1.7 The message tells what happened and what to do")
  func release_whileExecuting_saysCauseAndRemedy() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      SimpleOperation<Int> { _ in }.start()
    }
    let message = try #require(result?.standardErrorText).lowercased()
    #expect(message.contains("released"))
    #expect(message.contains("executing"))
    #expect(message.contains("keep it alive"))
    #expect(message.contains("SimpleOperation<Int>".lowercased()))
  }

  @Test("3.1.7 A subclass is named by its type")
  func release_ofSubclass_namesItsType() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      HeldOperation<Int>().start()
    }
    let message = try #require(result?.standardErrorText)
    #expect(message.contains("HeldOperation<Int>"))
  }

  @Test("3.1.7 An operation that is cancelled but never settled is diagnosed too")
  func release_whileExecutingCancelled_isDiagnosed() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      let operation = HeldOperation<Int>("forgotten after its cancel")
      operation.start()
      operation.cancel()
    }
    let message = try #require(result?.standardErrorText)
    #expect(message.contains("forgotten after its cancel"))
  }

  @Test("3.1.7 Nothing is said of operations that settled or never started")
  func release_ofOthers_isSilent() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      _ = SimpleOperation<Int> { _ in }
      let cancelled = SimpleOperation<Int> { _ in }
      cancelled.cancel()
      SimpleOperation<Int> { $0.finish(with: 1) }.start()
      let composite = CompositeOperation(operations: [succeeding(1), failing(TestError.first)])
      _ = await outcomeOfStarting(composite)
      _ = CompositeOperation(operations: [HeldOperation<Int>()])
      _ = succeeding(1).map { $0 }
    }
    let message = try #require(result?.standardErrorText).lowercased()
    #expect(!message.contains("executing"))
    #expect(!message.contains("operation"))
  }
}
#endif

extension ExitTest.Result {
  /// What the process wrote to standard error.
  var standardErrorText: String { String(decoding: standardErrorContent, as: UTF8.self) }
}
#endif
