import CompositeOperations
import Foundation
import TestSupport
import Testing

/// A sequence that is a closure, in the spellings that users try.
@Suite("3 A closure as sequence", .hangLimit)
struct ClosureSequenceTests {
  @Test("As the last argument, in one expression")
  func closure_ofOneExpression_isTheSequence() async {
    let composite = CompositeOperation { previous in previous == nil ? succeeding(1) : nil }
    #expect(await outcomeOfStarting(composite).value as? [Int] == [1])
  }

  @Test("As the last argument, with $0, and operations of different types")
  func closure_withShorthandArgument_isTheSequence() async {
    let composite = CompositeOperation { $0 == nil ? BlockOperation {} : nil }
    #expect(await outcomeOfStarting(composite).value?.count == 1)
  }

  @Test("With the label and a queue, of several statements, and steps of different types")
  func closure_withLabelAndQueue_runsThere() async {
    let queue = OperationQueue(limit: 1)
    let recorder = EventRecorder<Bool>()
    let composite = CompositeOperation(
      sequence: { previous in
        recorder.record(OperationQueue.current === queue)
        switch previous {
        case nil: return succeeding(20)
        case let fetch as SimpleOperation<Int>: return succeeding("\(fetch.result! + 1)")
        default: return nil
        }
      }, operationQueue: queue)
    let values = await outcomeOfStarting(composite).value
    #expect(values?.first as? Int == 20)
    #expect(values?.last as? String == "21")
    #expect(recorder.events == [true, true, true])
  }

  @Test("It may keep state in a captured variable")
  func closure_withCapturedVariable_keepsState() async {
    var remaining = [1, 2, 3]
    let composite = CompositeOperation { _ in
      remaining.isEmpty ? nil : succeeding(remaining.removeFirst())
    }
    #expect(await outcomeOfStarting(composite).value as? [Int] == [1, 2, 3])
  }

  @Test("It is called after failures; an error that it throws fails the composite")
  func closure_throwing_failsTheComposite() async throws {
    let composite = CompositeOperation { previous in
      guard previous == nil else { throw TestError.second }
      return failing(TestError.first)
    }
    let error = try #require(await outcomeOfStarting(composite).error as? CompositeError)
    #expect(error.failures.map { $0.error as? TestError } == [.first, .second])
  }

  @Test("Released when nothing more is asked of it")
  func closure_afterTheEnd_isReleased() async {
    let released = Gate()
    let composite: CompositeOperation
    do {
      let probe = ReleaseProbe(released)
      composite = CompositeOperation { previous in
        withExtendedLifetime(probe) { previous == nil ? succeeding(1) : nil }
      }
    }
    _ = await outcomeOfStarting(composite)
    await released.wait()
    withExtendedLifetime(composite) {}
  }

  @Test("A closure without an argument still lists children in parallel")
  func closure_withoutArgument_listsChildren() async {
    let composite = CompositeOperation {
      succeeding(1)
      succeeding(2)
    }
    #expect(composite.operations.count == 2)
    #expect(await outcomeOfStarting(composite).value as? [Int] == [1, 2])
  }
}
