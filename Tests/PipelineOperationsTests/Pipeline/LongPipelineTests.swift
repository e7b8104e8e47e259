import CompositeOperations
import Foundation
import PipelineOperations
import TestSupport
import Testing

/// Pipelines of very many steps.
@Suite("Long pipelines", .timeLimit(.minutes(30)))
struct LongPipelineTests {
  /// What is quadratic takes far more than the time limit at this number.
  @Test(arguments: [false, true])
  func hundredThousandSteps_arePutTogetherRunAndReleasedOnASmallStack(nesting: Bool) async throws {
    let steps = Scale.count(100_000, least: 10_000)
    let outcome = await onThread(stackSize: 512 * 1024) {
      var pipeline = Pipeline(of: Int.self)
      let one = Pipeline(Add(1))
      for _ in 0..<steps { pipeline = nesting ? pipeline.then(one) : pipeline.then { $0 + 1 } }
      let operation = pipeline.operation(for: 0)
      operation.start()
      operation.waitUntilFinished()
      return operation.outcome
    }
    #expect(outcome?.value == steps)
  }

  @Test func then_onTheSamePipelineTwice_makesTwoPipelines() async throws {
    let base = Pipeline(Add(1)).then(Add(2)).named("base")
    let (left, right) = (base.then(Add(10)), base.then(Add(20)))
    let longer = left.then(Add(100))
    #expect(base.stepNames.count == 2 && left.stepNames.count == 3 && longer.stepNames.count == 4)
    #expect(try await base.run(0) == 3)
    #expect(try await left.run(0) == 13)
    #expect(try await right.run(0) == 23)
    #expect(try await longer.run(0) == 113)
    #expect(longer.name == "base")
  }

  @Test func then_droppedPipeline_releasesItsStep() async {
    let released = Gate()
    let base = Pipeline(Add(1))
    do {
      let probe = ReleaseProbe(released)
      _ = base.then { number -> Int in
        probe.touch()
        return number
      }
    }
    await released.wait()
    #expect(base.stepNames.count == 1)
  }
}
