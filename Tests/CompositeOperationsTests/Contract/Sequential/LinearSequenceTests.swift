import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("3.3 LinearSequence", .hangLimit)
struct LinearSequenceTests {
  @Test("3.3 Each step is given the operation before it, the first one nil")
  func steps_areGivenThePrevious() async {
    let sequence = LinearSequence(
      { previous in
        #expect(previous == nil)
        return succeeding(20)
      },
      { previous in
        let value: Int = previous?.result() ?? 0
        return succeeding("value \(value)")
      },
      { previous in succeeding([previous?.result(as: String.self)]) })
    let values = await outcomeOfStarting(CompositeOperation(sequence: sequence)).value
    #expect(values?.last as? [String?] == ["value 20"])
    #expect(values?.count == 3)
  }

  @Test("3.3 It returns nil after a failed step: later steps are not called")
  func step_failing_endsIt() async {
    let called = Gate()
    let composite = CompositeOperation(
      sequence: LinearSequence(
        { _ in failing(TestError.first) },
        { _ in
          called.open()
          return succeeding(1)
        }))
    #expect(await outcomeOfStarting(composite).error is CompositeError)
    #expect(composite.failures == [.first])
    #expect(!called.isOpen)
  }

  @Test("3.3 It returns nil after a cancelled step: the composite is .cancelled")
  func step_cancelled_endsIt() async {
    let called = Gate()
    let composite = CompositeOperation(
      sequence: LinearSequence(
        { _ in cancelling() },
        { _ in
          called.open()
          return succeeding(1)
        }))
    #expect(await outcomeOfStarting(composite).isCancelled)
    #expect(!called.isOpen)
  }

  @Test("3.3 A step that returns nil ends it with success")
  func step_returningNil_endsItWithSuccess() async {
    let called = Gate()
    let composite = CompositeOperation(
      sequence: LinearSequence(
        { _ in succeeding(1) }, { _ in nil },
        { _ in
          called.open()
          return succeeding(3)
        }))
    #expect(await outcomeOfStarting(composite).value as? [Int] == [1])
    #expect(!called.isOpen)
  }

  @Test("3.3 No steps: success with no values")
  func steps_none_succeeds() async {
    let composite = CompositeOperation(sequence: LinearSequence(steps: []))
    #expect(await outcomeOfStarting(composite).value?.isEmpty == true)
  }

  @Test("3.3 A step that throws fails the composite with that error last")
  func step_throwing_fails() async throws {
    let composite = CompositeOperation(sequence: LinearSequence({ _ in succeeding(1) }, { _ in throw TestError.first }))
    let error = try #require(await outcomeOfStarting(composite).error as? CompositeError)
    #expect(error.failures.map(\.index) == [1])
    #expect(composite.failures == [.first])
  }

  @Test("3.3 Each composite starts at step 0, also at the same time")
  func sequence_sharedByMany_startsAtStepZero() async {
    let sequence = LinearSequence(steps: (0..<20).map { number in { _ in succeeding(number) } })
    await withTaskGroup(of: [Int]?.self) { group in
      for _ in 0..<20 {
        group.addTask { await outcomeOfStarting(CompositeOperation(sequence: sequence)).value as? [Int] }
      }
      for await values in group { #expect(values == Array(0..<20)) }
    }
  }

  @Test("3.3 Both sequences that ship are Sendable")
  func sequences_areSendable() {
    func take(_ value: some Sendable) {}
    take(LinearSequence(steps: []))
    take(RetrySequence(maxAttempts: 1) { _ in succeeding(1) })
  }

  @Test("3.3 Asked by hand, it goes step by step and stays at its end")
  func nextOperation_byHand_goesStepByStep() throws {
    var sequence = LinearSequence({ _ in succeeding(1, named: "a") }, { _ in succeeding(2, named: "b") })
    let first = try #require(try sequence.nextOperation(after: nil))
    #expect(first.name == "a")
    first.start()
    let second = try #require(try sequence.nextOperation(after: first))
    #expect(second.name == "b")
    second.start()
    #expect(try sequence.nextOperation(after: second) == nil)
    #expect(try sequence.nextOperation(after: second) == nil)
  }
}
