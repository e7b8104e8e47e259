import Foundation
import TestSupport
import Testing

@testable import ManagedOperations

/// Errors of tasks that hold others, and what they say.
@Suite("6 Errors of tasks", .timeLimit(.minutes(30))) struct ManagedTaskErrorTests {
  @Test("A hundred thousand errors, each in the next, are told and released on a stack of 512 KiB")
  func deepError_isToldAndReleased() async {
    let texts = await onThread(stackSize: 512 * 1024) {
      [true, false].map { isUnderlying in
        var error: any Error = TestError.first
        for number in 0..<100_000 {
          error = ManagedTaskError(
            .reactionFailed, taskID: number, taskDescription: "Task", participant: "Reactor",
            cause: isUnderlying ? error : nil, original: isUnderlying ? TestError.second : error)
        }
        return "\(error)"
      }
    }
    for text in texts {
      #expect(text.hasPrefix("Task 99999 (Task) failed, because the reactor Reactor failed"))
      #expect(text.contains("levels further in") && text.utf8.count < 17_000)
    }
  }

  @Test("Names of any length are cut in the text, and whole in the error")
  func longNames_areCut() {
    let name = String(repeating: "long ", count: 200_000)
    let error = ManagedTaskError(.discarded, taskID: 1, taskDescription: name, participant: name)
    #expect(error.taskDescription == name && error.participant == name)
    #expect(
      "\(error)".hasPrefix("Task 1 (\(name.prefix(200))…) was discarded by the interceptor \(name.prefix(200))…, and"))
  }
}
