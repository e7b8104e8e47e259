import CompositeOperations
import Foundation
import TestSupport
import Testing

/// The progress of an operation, from its reports or its children.
@Suite("8 Progress", .hangLimit)
struct ProgressTests {
  @Test func leaf_reporting_neverGoesBackAndEndsAtOne() {
    let operation = HeldOperation<Int>()
    #expect(operation.fractionCompleted == 0 && operation.isProgressIndeterminate)
    operation.start()
    var seen: [Double] = []
    for fraction in [0.25, 0.125, -1, 0.5, 7] {
      operation.reportProgress(fraction)
      seen.append(operation.fractionCompleted)
    }
    #expect(seen == [0.25, 0.25, 0.25, 0.5, 1])
    #expect(!operation.isProgressIndeterminate)
    operation.finish(with: 1)
    #expect(operation.fractionCompleted == 1)
  }

  @Test func leaf_reportingPieces_ignoresUnknownTotals() {
    let operation = HeldOperation<Int>()
    operation.start()
    operation.reportProgress(completed: 5, of: 0)
    operation.reportProgress(completed: 5, of: -1)
    #expect(operation.isProgressIndeterminate)
    operation.reportProgress(completed: 3, of: 4)
    #expect(operation.fractionCompleted == 0.75)
    operation.reject(with: TestError.first)
    operation.reportProgress(0.9)
    #expect(operation.fractionCompleted == 0.75 && !operation.isProgressIndeterminate)
  }

  @Test func success_neverAsked_isOneAndFailureNone() {
    let success = succeeding(1)
    success.start()
    #expect(success.fractionCompleted == 1 && !success.isProgressIndeterminate)
    let failure = failing(TestError.first)
    failure.start()
    #expect(failure.fractionCompleted == 0)
  }

  @Test func asyncOperation_withReporter_reports() async {
    let reported = Gate()
    let seen = Gate()
    let operation = AsyncOperation { progress in
      progress.report(0.25)
      progress.report(completed: 1, of: 2)
      reported.open()
      await seen.wait()
      return 5
    }
    async let outcome = outcomeOfStarting(operation)
    await reported.wait()
    #expect(operation.fractionCompleted == 0.5)
    seen.open()
    #expect(await outcome.value == 5)
    #expect(operation.fractionCompleted == 1)
  }

  @Test(arguments: [false, true])
  func parallelComposite_weighsItsChildren(asksLate: Bool) async {
    let children = (0..<3).map { HeldOperation<Int>("\($0)") }
    children[2].progressWeight = 2
    let composite = CompositeOperation(operations: children)
    if !asksLate { #expect(composite.fractionCompleted == 0) }
    #expect(!composite.isProgressIndeterminate || asksLate)
    async let outcome = outcomeOfStarting(composite)
    for child in children { await child.started.wait() }
    children[0].finish(with: 1)
    children[2].reportProgress(0.25)
    #expect(await Patience.reached { composite.fractionCompleted == 0.375 })
    children[1].reportProgress(0.5)
    #expect(composite.fractionCompleted == 0.5)
    children[1].finish(with: 1)
    children[2].finish(with: 1)
    _ = await outcome
    #expect(composite.fractionCompleted == 1)
  }

  @Test func parallelComposite_cancelled_staysWhereItWas() async {
    let children = (0..<4).map { HeldOperation<Int>("\($0)", settlesWhenCancelled: true) }
    let composite = CompositeOperation(operations: children)
    composite.maxConcurrentOperationCount = 2
    async let outcome = outcomeOfStarting(composite)
    await children[0].started.wait()
    await children[1].started.wait()
    children[0].finish(with: 1)
    await children[2].started.wait()
    children[1].reportProgress(0.5)
    #expect(composite.fractionCompleted == 0.375)
    composite.cancel()
    #expect(await outcome.isCancelled)
    #expect(composite.fractionCompleted == 0.375)
  }

  @Test func sequence_withoutCount_isIndeterminateToTheEnd() async {
    let step = HeldOperation<Int>()
    let composite = CompositeOperation(sequence: ListSequence([succeeding(1), step]))
    #expect(composite.isProgressIndeterminate)
    async let outcome = outcomeOfStarting(composite)
    await step.started.wait()
    step.reportProgress(0.5)
    #expect(composite.isProgressIndeterminate && composite.fractionCompleted == 0)
    step.finish(with: 1)
    _ = await outcome
    #expect(!composite.isProgressIndeterminate && composite.fractionCompleted == 1)
  }

  @Test(arguments: [false, true])
  func linearSequence_knowsItsSteps(asksLate: Bool) async {
    let step = HeldOperation<Int>()
    let composite = CompositeOperation(
      sequence: LinearSequence({ _ in succeeding(1) }, { _ in step }, { _ in succeeding(2) }, { _ in succeeding(3) }))
    if !asksLate { #expect(composite.fractionCompleted == 0) }
    async let outcome = outcomeOfStarting(composite)
    await step.started.wait()
    if asksLate { step.reportProgress(0.5) }
    #expect(await Patience.reached { composite.fractionCompleted == (asksLate ? 0.375 : 0.25) })
    step.reportProgress(0.5)
    #expect(composite.fractionCompleted == 0.375)
    #expect(!composite.isProgressIndeterminate)
    step.finish(with: 1)
    _ = await outcome
    #expect(composite.fractionCompleted == 1)
  }

  private struct Growing: CompositeOperation.Sequence {
    var steps: [HeldOperation<Int>]
    var made = 0
    var expectedCount: Int? { made == 1 ? nil : made == 2 ? 4 : 8 }

    mutating func nextOperation(after previous: Operation?) throws -> Operation? {
      guard made < steps.count else { return nil }
      made += 1
      return steps[made - 1]
    }
  }

  @Test func sequence_whoseCountChanges_followsAndNeverGoesBack() async {
    let steps = (0..<3).map { HeldOperation<Int>("\($0)") }
    let composite = CompositeOperation(sequence: Growing(steps: steps))
    #expect(composite.isProgressIndeterminate)
    async let outcome = outcomeOfStarting(composite)
    await steps[0].started.wait()
    #expect(composite.isProgressIndeterminate)
    steps[0].finish(with: 1)
    await steps[1].started.wait()
    #expect(!composite.isProgressIndeterminate && composite.fractionCompleted == 0.25)
    steps[1].finish(with: 1)
    await steps[2].started.wait()
    // Two of four, and then two of eight.
    #expect(composite.fractionCompleted == 0.5)
    steps[2].finish(with: 1)
    _ = await outcome
    #expect(composite.fractionCompleted == 1)
  }

  @Test func then_isTwoSteps_mapOne() async {
    let first = HeldOperation<Int>()
    let second = HeldOperation<Int>()
    let chain = first.then { _ in second }.map { $0 + 1 }
    #expect(chain.isProgressIndeterminate == false || chain.fractionCompleted == 0)
    async let outcome = outcomeOfStarting(chain)
    await first.started.wait()
    first.reportProgress(0.5)
    #expect(chain.fractionCompleted == 0.25)
    first.finish(with: 1)
    await second.started.wait()
    #expect(chain.fractionCompleted == 0.5)
    second.reportProgress(0.5)
    #expect(chain.fractionCompleted == 0.75 && !chain.isProgressIndeterminate)
    second.finish(with: 2)
    #expect(await outcome.value == 3)
    #expect(chain.fractionCompleted == 1)
  }

  @Test func recover_goesOnWhereTheSecondGetsFurther() async {
    let first = HeldOperation<Int>()
    let second = HeldOperation<Int>()
    let operation = first.recover { _ in second }
    async let outcome = outcomeOfStarting(operation)
    await first.started.wait()
    first.reportProgress(0.5)
    #expect(operation.fractionCompleted == 0.5)
    first.reject(with: TestError.first)
    await second.started.wait()
    second.reportProgress(0.25)
    #expect(operation.fractionCompleted == 0.5)
    second.reportProgress(0.75)
    #expect(operation.fractionCompleted == 0.75)
    second.finish(with: 1)
    _ = await outcome
  }

  @Test func forEach_countsItems() async {
    let held = (0..<4).map { HeldOperation<Int>("\($0)") }
    let operation = forEach(0..<4, maxConcurrent: 2) { held[$0] }
    async let outcome = outcomeOfStarting(operation)
    await held[0].started.wait()
    await held[1].started.wait()
    held[0].finish(with: 0)
    await held[2].started.wait()
    #expect(operation.fractionCompleted == 0.25)
    for child in held.dropFirst() { child.finish(with: 0) }
    _ = await outcome
    #expect(operation.fractionCompleted == 1)
  }

  @Test func sharedChild_tellsAllWhoWaitForIt() async {
    let shared = HeldOperation<Int>()
    let first = shared.map { $0 }
    let second = zip(shared, succeeding(1))
    _ = (first.fractionCompleted, second.fractionCompleted)
    async let firstOutcome = outcomeOfStarting(first)
    async let secondOutcome = outcomeOfStarting(second)
    await shared.started.wait()
    #expect(
      await Patience.reached {
        shared.reportProgress(0.5)
        return first.fractionCompleted == 0.5 && second.fractionCompleted == 0.75
      })
    shared.finish(with: 1)
    _ = await (firstOutcome, secondOutcome)
  }

  @Test func observer_ofNestedComposites_isToldOfProgressInSteps() async {
    let leaves = (0..<4).map { HeldOperation<Int>("\($0)") }
    let composite = CompositeOperation {
      CompositeOperation(operations: Array(leaves[..<2]))
      CompositeOperation(operations: Array(leaves[2...]))
    }
    let fractions = EventRecorder<Double>()
    composite.addObserver { event in
      if let fraction = event.fractionCompleted { fractions.record(fraction) }
    }
    async let outcome = outcomeOfStarting(composite)
    for (number, leaf) in leaves.enumerated() {
      await leaf.started.wait()
      leaf.reportProgress(0.0001)
      leaf.finish(with: 1)
      // If two finish at once, only the sum may be reported.
      await fractions.wait(forCount: number + 1)
    }
    _ = await outcome
    #expect(fractions.events == [0.25, 0.5, 0.75, 1])
  }

  @Test func plainChildren_count() async {
    let held = AsyncPlainOperation()
    let composite = CompositeOperation { [BlockOperation {}, held] }
    async let outcome = outcomeOfStarting(composite)
    await held.started.wait()
    #expect(await Patience.reached { composite.fractionCompleted == 0.5 })
    held.complete()
    _ = await outcome
    #expect(composite.fractionCompleted == 1)
  }

  @Test("Each step of a thousandth is an event")
  func report_inThousandths_isOneEventEach() async {
    let operation = HeldOperation<Int>(), seen = EventRecorder<Double>()
    operation.addObserver { event in
      if let fraction = event.fractionCompleted, event.kind == .progress { seen.record(fraction) }
    }
    await onWorker { operation.start() }
    for step in 1...1000 { operation.reportProgress(completed: step, of: 1000) }
    operation.finish(with: 1)
    #expect(seen.events == (1...1000).map { Double($0) / 1000 })
  }

  @Test("An observer is called from the same depth of the stack each time")
  func manyEvents_callTheObserverAtOneDepth() async {
    let operation = HeldOperation<Int>(), depths = EventRecorder<Int>()
    operation.addObserver { _ in depths.record(Thread.callStackReturnAddresses.count) }
    await onWorker { operation.start() }
    await onWorker { for step in 1...20 { operation.reportProgress(completed: step, of: 20) } }
    operation.finish(with: 1)
    // The depths of the events of progress.
    #expect(Set(depths.events.dropFirst().dropLast()).count == 1, "\(depths.events)")
  }
}
