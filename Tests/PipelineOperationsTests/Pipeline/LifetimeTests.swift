import CompositeOperations
import Foundation
import PipelineOperations
import TestSupport
import Testing

@Suite("Lifetime of pipelines", .timeLimit(.minutes(30)))
struct LifetimeTests {
  enum End: CaseIterable, Sendable {
    case success, failure, cancel
  }

  @Test(
    "A settled operation holds no steps: what they hold, which may be the operation itself, is released",
    arguments: End.allCases)
  func settledOperation_holdsNoSteps(end: End) async {
    let released = Gate()
    let held = HeldStep()
    var probe: ReleaseProbe? = ReleaseProbe(released)
    let operation = Locked<SimpleOperation<Int>?>(nil)
    do {
      let pipeline = Pipeline(held).then { [probe] number -> Int in
        probe?.touch()
        _ = operation.current
        return number
      }
      let made = pipeline.operation(for: 1)
      operation.withLock { $0 = made }
    }
    probe = nil
    let run = operation.current!
    run.start()
    let step = await held.started()
    switch end {
    case .success: step.finish(with: 1)
    case .failure: step.reject(with: TestError.first)
    case .cancel: run.cancel()
    }
    _ = await settled(run)
    await released.wait()
    #expect(run.isFinished)
  }

  @Test func inputAndValues_areReleasedOnTheWay() async {
    let (input, value) = (Gate(), Gate())
    let held = HeldStep()
    let operation = Pipeline(of: ReleaseProbe.self).then { _ in ReleaseProbe(value) }.then { _ in 1 }.then(held)
      .operation(for: ReleaseProbe(input))
    operation.start()
    let step = await held.started()
    await input.wait()
    await value.wait()
    step.finish(with: 1)
    #expect(await settled(operation).value == 1)
  }

  @Test func unstartedOperation_thatIsReleased_releasesEverything() async {
    let (input, held) = (Gate(), Gate())
    do {
      let probe = ReleaseProbe(held)
      _ = Pipeline(of: ReleaseProbe.self).then { _ in probe.touch() }.operation(for: ReleaseProbe(input))
    }
    await input.wait()
    await held.wait()
  }

  @Test func operation_withoutReferences_runsToItsEnd() async {
    let held = HeldStep()
    let done = EventRecorder<Int>()
    do {
      let operation = Pipeline(held).then(Add(1)).operation(for: 1)
      operation.completion = { done.record($0.value ?? -1) }
      operation.start()
    }
    await held.started().finish(with: 6)
    await done.wait(for: 7)
  }

  @Test func tenThousandSteps_runAndAreReleasedOnASmallStack() async {
    let steps = 10_000
    let (value, name) = await onThread(stackSize: 512 * 1024) { () -> (Int?, String?) in
      var pipeline = Pipeline(of: Int.self)
      for _ in 0..<steps { pipeline = pipeline.then(Add(1)) }
      let operation = pipeline.operation(for: 0)
      operation.start()
      operation.waitUntilFinished()
      let failing = pipeline.then { (_: Int) -> Int in throw TestError.first }.operation(for: 0)
      failing.start()
      failing.waitUntilFinished()
      return (operation.result, (failing.error as? PipelineStepError).map { "\($0.stepIndex)" })
    }
    #expect(value == steps && name == "\(steps)")
  }

  @Test func pipelinesInPipelines_nestDeep() async throws {
    var pipeline = Pipeline(Add(1))
    for _ in 0..<500 { pipeline = Pipeline(of: Int.self).then(pipeline) }
    #expect(try await pipeline.run(1) == 2)
  }
}
