import CompositeOperations
import ManagedOperations
import TestSupport
import Testing

@Suite("6 ManagedTask", .timeLimit(.minutes(30))) struct ManagedTaskTests {
  private struct One: ManagedTask {
    func makeOperation() -> SimpleOperation<Int> { SimpleOperation { $0.finish(with: 1) } }
  }

  @Test func task_makesAnOperationForEachAttempt() async throws {
    #expect(try await One().makeOperation().run() == 1)
  }
}
