import CompositeOperations
import Foundation
import PipelineOperations
import TestSupport
import Testing

@Suite("Progress of pipelines", .timeLimit(.minutes(30)))
struct ProgressTests {
  @Test func progress_isWeightedByStep_alsoByThoseToCome() async {
    let steps = [HeldStep("a"), HeldStep("b"), HeldStep("c")]
    let operation = Pipeline(steps[0]).then(steps[1].weighted(8)).then(steps[2]).operation(for: 0)
    #expect(operation.fractionCompleted == 0 && !operation.isProgressIndeterminate)
    operation.start()
    await steps[0].started().finish(with: 1)
    let second = await steps[1].started()
    #expect(operation.fractionCompleted == 0.1)
    second.finish(with: 2)
    let third = await steps[2].started()
    #expect(operation.fractionCompleted == 0.9)
    third.finish(with: 3)
    _ = await settled(operation)
    #expect(operation.fractionCompleted == 1)
  }

  @Test func progress_ofAStep_streamsThrough() async {
    let steps = [HeldStep("a"), HeldStep("b")]
    let operation = Pipeline(steps[0].weighted(3)).then(steps[1].named("x").timeout(.seconds(99))).operation(for: 0)
    let seen = EventRecorder<Double>()
    operation.addObserver { event in if let fraction = event.fractionCompleted { seen.record(fraction) } }
    operation.start()
    let first = await steps[0].started()
    first.reportProgress(0.5)
    #expect(operation.fractionCompleted == 0.375)
    first.finish(with: 1)
    let second = await steps[1].started()
    second.reportProgress(completed: 1, of: 2)
    #expect(operation.fractionCompleted == 0.875)
    second.finish(with: 2)
    _ = await settled(operation)
    #expect(Array(seen.events.prefix(3)) == [0.375, 0.75, 0.875])
  }

  @Test func progress_askedLate_isTheSame() async {
    let steps = [HeldStep("a"), HeldStep("b"), HeldStep("c")]
    let operation = Pipeline(steps[0].weighted(2)).then(steps[1].weighted(6)).then(steps[2].weighted(2))
      .operation(for: 0)
    operation.start()
    await steps[0].started().finish(with: 1)
    await steps[1].started().finish(with: 1)
    let third = await steps[2].started()
    third.reportProgress(0.5)
    #expect(operation.fractionCompleted == 0.9)
    third.finish(with: 1)
    _ = await settled(operation)
  }

  @Test func progress_ofNestedPipelines_isOneStepOfTheOuter() async {
    let (a, b) = (HeldStep("a"), HeldStep("b"))
    let inner = Pipeline(a).then(b).named("inner")
    let operation = Pipeline(Add(1)).then(inner.weighted(3)).operation(for: 0)
    #expect(operation.fractionCompleted == 0)
    operation.start()
    await a.started().finish(with: 1)
    let second = await b.started()
    #expect(operation.fractionCompleted == 0.625)
    second.finish(with: 1)
    _ = await settled(operation)
  }

  @Test func progress_ofReportingClosure_shows() async {
    let (reported, go) = (Gate(), Gate())
    let step = Transform<Int, Int>(reporting: { number, progress in
      progress.report(0.5)
      reported.open()
      await go.wait()
      return number
    })
    let operation = Pipeline(step).operation(for: 1)
    #expect(operation.fractionCompleted == 0)
    operation.start()
    await reported.wait()
    #expect(operation.fractionCompleted == 0.5 && operation.progress.fractionCompleted == 0.5)
    go.open()
    _ = await settled(operation)
  }

  @Test func progress_ofStepsWithoutWeight_doesNotDivideByZero() async throws {
    let held = HeldStep()
    let operation = Pipeline(Add(1).weighted(0)).then(held.weighted(0)).operation(for: 1)
    #expect(operation.fractionCompleted == 0)
    operation.start()
    let step = await held.started()
    step.reportProgress(0.5)
    #expect(operation.fractionCompleted == 0)
    step.finish(with: 1)
    _ = await settled(operation)
    #expect(operation.fractionCompleted == 1)
  }

  @Test func progress_ofTheLargestWeights_isTheirShare() async {
    let held = HeldStep()
    let largest = Double.greatestFiniteMagnitude
    let operation = Pipeline(Add(1).weighted(largest)).then(held.weighted(largest)).operation(for: 1)
    #expect(operation.fractionCompleted == 0 && !operation.isProgressIndeterminate)
    operation.start()
    let step = await held.started()
    #expect(operation.fractionCompleted == 0.5)
    step.reportProgress(0.5)
    #expect(operation.fractionCompleted == 0.75)
    step.finish(with: 1)
    _ = await settled(operation)
  }

  @Test func progress_ofAStepWithoutWeight_inAQueue_showsByItselfAndWithAWeight() async throws {
    let held = HeldStep()
    let queued = held.weighted(0).on(OperationQueue())
    #expect(queued.stepWeight == 0)
    let alone = try queued.operation(for: 1)
    let weighted = Pipeline(queued.weighted(3)).then(Add(1)).operation(for: 1)
    for (number, (operation, share)) in [(alone, 0.5), (weighted, 0.375)].enumerated() {
      #expect(operation.fractionCompleted == 0)
      operation.start()
      let step = await held.started(number + 1)
      step.reportProgress(0.5)
      #expect(operation.fractionCompleted == share)
      step.finish(with: 1)
      _ = await settled(operation)
    }
  }

  @Test func progress_ofAFailure_stands() async {
    let held = HeldStep()
    let operation = Pipeline(Add(1)).then(held).then(Add(1)).then(Add(1)).operation(for: 1)
    #expect(operation.fractionCompleted == 0)
    operation.start()
    await held.started().cancel()
    _ = await settled(operation)
    #expect(operation.fractionCompleted == 0.25)
  }
}
