import CompositeOperations
import PipelineOperations
import TestSupport
import Testing

@Suite("PipelineStep", .timeLimit(.minutes(30))) struct PipelineStepTests {
  private struct Double: PipelineStep {
    func operation(for input: Int) -> SimpleOperation<Int> { SimpleOperation { $0.finish(with: 2 * input) } }
  }

  @Test func step_usedTwice_makesAnOperationEachTime() async throws {
    let step: any PipelineStep<Int, Int> = Double()
    #expect(try await step.operation(for: 1).run() == 2)
    #expect(try await step.operation(for: 2).run() == 4)
  }
}
