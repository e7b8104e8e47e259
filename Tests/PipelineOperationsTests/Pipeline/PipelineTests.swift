import CompositeOperations
import Foundation
import PipelineOperations
import TestSupport
import Testing

@Suite("Pipelines", .timeLimit(.minutes(30)))
struct PipelineTests {
  @Test func emptyPipeline_succeedsWithItsInput() async throws {
    let operation = Pipeline(of: Int.self).operation(for: 7)
    #expect(try await operation.run() == 7)
    #expect(operation.fractionCompleted == 1)
  }

  @Test func pipeline_isAValue_soChangingItLeavesItAsItWas() async throws {
    let short = Pipeline(Add(1))
    let long = short.then(Add(2))
    #expect(try await short.run(0) == 1)
    #expect(try await long.run(0) == 3)
    #expect(short.stepNames == ["Add"] && long.stepNames == ["Add", "Add"])
  }

  @Test func pipeline_runManyTimesAtOnce_keepsTheRunsApart() async throws {
    let pipeline = Pipeline(Add(1)).then { number in "\(number)" }.then { Int($0)! }
    let runs = (0..<200).map { pipeline.operation(for: $0) }
    #expect(try await all(runs).run() == (1...200).map { $0 })
  }

  @Test func then_ofTwoPipelines_keepsTheNameAndTheStepsOfTheFirst() async throws {
    let first = Pipeline(Add(1)).then(Add(2)).named("first")
    let second = Pipeline(Transform { (number: Int) in "\(number)" }.named("text")).named("second")
    let both: Pipeline<Int, String> = first.then(second)
    #expect(both.stepNames == ["Add", "Add", "second"] && both.name == "first")
    #expect(try await both.run(1) == "4")
    #expect(first.then(Pipeline(of: Int.self)).stepNames == ["Add", "Add", "Pipeline"])
    #expect(Pipeline(of: Int.self).then(second).name == nil)
  }

  @Test func then_withAPipeline_makesOneStepOfIt() async throws {
    let inner = Pipeline(Add(1)).then(Add(2)).named("inner")
    let outer = Pipeline(Add(3)).then(inner)
    #expect(outer.stepNames == ["Add", "inner"])
    #expect(try await outer.run(1) == 7)
    #expect(Pipeline(inner).stepNames == ["Add", "Add"])
  }

  @Test func description_tellsTheSteps() {
    #expect(Pipeline(of: Int.self).description == "no steps")
    #expect(Pipeline(Add(1)).then { $0 }.named("sum").description == "sum: Add → Transform")
  }

  @Test func operation_isNamedLikeThePipeline_andItsStepsLikeTheSteps() async throws {
    let held = HeldStep("hold")
    let pipeline = Pipeline(held).named("holding")
    let operation = pipeline.operation(for: 1)
    #expect(operation.name == "holding" && Pipeline(Add(1)).operation(for: 1).name == nil)
    operation.start()
    let step = await held.started()
    #expect(step.name == "hold")
    step.finish(with: 2)
    #expect(await settled(operation).value == 2)
  }

  @Test func step_whoseOperationHasAName_keepsIt() async throws {
    let names = EventRecorder<String?>()
    let pipeline = Pipeline(of: Int.self).then { number in
      SimpleOperation<Int> {
        names.record($0.name); $0.finish(with: number)
      }
    }.then { _ in
      let own = SimpleOperation<Int> {
        names.record($0.name); $0.finish(with: 1)
      }
      own.name = "own"
      return own
    }
    _ = try await pipeline.run(1)
    #expect(names.events == ["Transform", "own"])
  }

  @Test func namedStep_whoseOperationHasAName_replacesIt() async throws {
    let names = EventRecorder<String?>()
    let step = Transform<Int, Int>(makingOperation: { number in
      let own = SimpleOperation<Int> {
        names.record($0.name)
        $0.finish(with: number)
      }
      own.name = "own"
      return own
    })
    _ = try await Pipeline(step.named("given")).then(step.weighted(2)).run(1)
    #expect(names.events == ["given", "own"])
  }

  @Test func start_returnsBeforeTheFirstStep() async {
    let gate = Gate()
    let operation = Pipeline(of: Int.self).then { number -> Int in
      gate.waitBlocking()
      return number
    }.operation(for: 1)
    await onWorker { operation.start() }
    #expect(!operation.isFinished)
    gate.open()
    #expect(await settled(operation).value == 1)
  }

  @Test func operation_nestsInCompositions() async throws {
    let pipeline = Pipeline(Add(1)).then(Add(2))
    let sums = forEach(0..<10, maxConcurrent: 3) { pipeline.operation(for: $0) }.map { $0.reduce(0, +) }
    let chained = sums.then { pipeline.operation(for: $0) }
    #expect(try await chained.run() == 78)
    let composite = CompositeOperation(operations: [pipeline.operation(for: 1), pipeline.operation(for: 2)])
    #expect(try await composite.run().compactMap { $0 as? Int } == [4, 5])
  }

  @Test func operation_inQueueOfOne_withPipelinesInside_finishes() async throws {
    let queue = OperationQueue(limit: 1)
    let gauge = ConcurrencyGauge()
    let inner = Pipeline(of: Int.self).then { number -> Int in
      gauge.enter()
      defer { gauge.leave() }
      return number + 1
    }
    let middle = Pipeline(inner).then(inner).named("middle")
    let outer = Pipeline(middle).then(MapElements(maxConcurrent: 4, inner).accepting { [$0, $0, $0] }).then { $0.count }
    let runs = (0..<8).map { outer.operation(for: $0) }
    queue.add([CompositeOperation(operations: runs, operationQueue: queue)])
    for run in runs { #expect(await settled(run).value == 3) }
    #expect(gauge.maximum == 1 && gauge.total == 8 * 5)
  }

  @Test func cancel_beforeStart_settlesWithoutAStep() async {
    let held = HeldStep()
    let operation = Pipeline(held).operation(for: 1)
    operation.cancel()
    operation.start()
    #expect(await settled(operation).isCancelled && held.count == 0)
  }

  @Test func cancel_whileAStepRuns_cancelsItAndRunsNoFurther() async {
    let (held, after) = (HeldStep("first", settlesWhenCancelled: false), HeldStep("second"))
    let operation = Pipeline(held).then(after).operation(for: 1)
    operation.start()
    let step = await held.started()
    operation.cancel()
    #expect(step.isCancelled && !operation.isFinished)
    step.finish(with: 1)
    #expect(await settled(operation).isCancelled && after.count == 0)
  }

  @Test func stepThatIsCancelled_cancelsThePipeline() async throws {
    let thrown = Pipeline(Add(1)).then { (_: Int) -> Int in throw CancellationError() }.then(Add(1))
    #expect(try await outcome(of: thrown, for: 1).isCancelled)
    let settled = Pipeline(Add(1)).then { _ in cancelling() }.then(Add(1))
    #expect(try await outcome(of: settled, for: 1).isCancelled)
    let refused = Pipeline(Add(1)).then { (_: Int) -> Doubling in throw CancellationError() }
    #expect(try await outcome(of: refused, for: 1).isCancelled)
  }

  @Test func settledByOthers_whileAStepRuns_cancelsIt() async {
    let (held, after) = (HeldStep("held", settlesWhenCancelled: false), HeldStep("after"))
    let operation = Pipeline(held).then(after).operation(for: 1)
    operation.start()
    let step = await held.started()
    operation.finish(with: 7)
    #expect(operation.outcome?.value == 7)
    await step.cancelRequested.wait()
    step.finish(with: 1)
    await finished(step)
    #expect(after.count == 0)
  }

  @Test func settledByOthers_beforeTheStart_releasesItsInputAndRunsNothing() async {
    let held = HeldStep("held", of: ReleaseProbe.self)
    let released = Gate()
    let operation = Pipeline(held).operation(for: ReleaseProbe(released))
    operation.settle(with: .cancelled)
    await released.wait()
    operation.start()
    #expect(held.count == 0 && operation.isFinished)
  }
}

extension PipelineStep {
  /// The step, for something that it is made of first.
  fileprivate func accepting<T>(_ transform: @escaping @Sendable (T) -> Input) -> Pipeline<T, Output> {
    Transform(transform).then(self)
  }
}
