import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// A caller that is too late to settle or cancel while the winner stores the outcome.
@Suite("3.1 Between settling and settled", .hangLimit)
struct PublicationTests {
  /// Runs `late` on a thread while another one is between the two steps. Returns the result of
  /// `late`, and the phase in which it returned.
  private func meet<Result: Sendable>(
    _ late: @escaping @Sendable (SimpleOperation<Int>) -> Result
  ) async -> (Result, OperationState.Phase) {
    let operation = SimpleOperation<Int> { _ in }
    operation.start()
    #expect(operation.state.apply { $0.settle(as: .success) } == .win(.success, unstarted: false))
    async let returned = onThread { (late(operation), operation.state.current.phase) }
    await onThread { while !operation.state.current.has(.awaited) { sched_yield() } }
    operation.storedValue = 1
    operation.state.apply { _ = $0.publish(finishing: false) }
    Publication.announce()
    let result = await returned
    #expect(operation.outcome?.value == 1)
    return result
  }

  @Test func cancel_whileOutcomeIsStored_returnsWhenItIsReadable() async {
    let (_, phase) = await meet { $0.cancel() }
    #expect(phase == .settled)
  }

  @Test func finish_whileOutcomeIsStored_returnsFalseWhenItIsReadable() async {
    let (isSettled, phase) = await meet { $0.finish(with: 2) }
    #expect(!isSettled && phase == .settled)
  }

  @Test func wait_whatIsAwaitedIsThere_returnsAtOnce() {
    Publication.wait { true }
  }
}
