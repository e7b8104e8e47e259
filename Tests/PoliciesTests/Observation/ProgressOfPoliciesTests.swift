import CompositeOperations
import Foundation
import TestSupport
import Testing

/// The progress of operations with preparations: it is the work's, and preparations do not count.
@Suite("8 Progress of policies", .hangLimit)
struct ProgressOfPoliciesTests {
  @Test(arguments: Preparation.allCases, Surrounding.allCases)
  func work_afterPreparation_countsAlone(_ preparation: Preparation, _ surrounding: Surrounding) async {
    for asking in Asking.allCases { await check(preparation, in: surrounding, asking) }
  }

  private func check(_ preparation: Preparation, in surrounding: Surrounding, _ asking: Asking) async {
    let label: Comment = "asking \(asking)"
    let world = PreparedWorld()
    let prepared = await world.operation(after: preparation)
    let siblings = [HeldOperation<Int>(), HeldOperation<Int>()]
    let whole = surrounding.wrap(prepared, before: siblings)
    let told = EventRecorder<Double>()
    @Sendable func isAt(_ fraction: Double) -> Bool {
      whole.fractionCompleted == fraction * surrounding.share && prepared.fractionCompleted == fraction
    }
    if asking == .early {
      #expect(isAt(0), label)
      whole.addObserver { event in if let fraction = event.fractionCompleted { told.record(fraction) } }
    }
    OperationQueue().addOperation(whole)
    await world.untilPreparing(preparation)
    if asking != .late { #expect(isAt(0) && prepared.isProgressIndeterminate, label) }
    world.endPreparation()
    await world.work.started.wait()
    // The thread that starts it links it to a progress that is asked for in that moment.
    await Patience.untilAwaited(world.work)
    if asking != .late { #expect(isAt(0) && prepared.isProgressIndeterminate, label) }
    world.work.reportProgress(0.25)
    #expect(isAt(0.25) && !prepared.isProgressIndeterminate, label)
    world.work.reportProgress(0.75)
    #expect(isAt(0.75), label)
    if asking == .early {
      await told.wait { ($0.last ?? 0) >= 0.75 * surrounding.share }
      #expect(told.events == [0.25, 0.75].map { $0 * surrounding.share }, label)
    }
    world.work.finish(with: 1)
    // A sequence takes no operation that has finished before.
    if surrounding.share < 1 { await siblings[0].started.wait() }
    for sibling in siblings { sibling.finish(with: 1) }
    await finished(whole)
    #expect(prepared.fractionCompleted == 1 && whole.fractionCompleted == 1, label)
  }

  @Test func conditionAndSibling_inComposite_standWhereTheWorkIs() async {
    let work = HeldOperation<Int>()
    let conditional = work.condition(Condition("yes") { _ in true })
    let both = CompositeOperation(operations: [conditional, succeeding(1)])
    let told = EventRecorder<Double>()
    both.addObserver { event in if let fraction = event.fractionCompleted { told.record(fraction) } }
    async let outcome = outcomeOfStarting(both)
    await work.started.wait()
    await told.wait(for: 0.5)
    work.reportProgress(0.25)
    await told.wait(for: 0.625)
    #expect(conditional.fractionCompleted == 0.25 && both.fractionCompleted == 0.625)
    #expect(told.events == [0.5, 0.625])
    work.finish(with: 1)
    _ = await outcome
  }

  @Test func condition_thatDoesNotHold_leavesTheFractionAtZero() async {
    let conditional = HeldOperation<Int>().condition(Condition("no") { _ in false })
    let told = EventRecorder<Double>()
    conditional.addObserver { event in if let fraction = event.fractionCompleted { told.record(fraction) } }
    #expect(await outcomeOfStarting(conditional).error is ConditionError)
    #expect(conditional.fractionCompleted == 0 && told.events == [])
  }

  @Test func retrying_duringTheDelay_staysWhereTheAttemptWas() async {
    let clock = ManualClock()
    let first = HeldOperation<Int>()
    let second = HeldOperation<Int>()
    let whole = first.retrying(
      RetryPolicy(maxAttempts: 2, backoff: .constant(.seconds(1)), jitter: .none), clock: clock
    ) { _ in second }
    #expect(whole.fractionCompleted == 0)
    async let outcome = outcomeOfStarting(whole)
    await first.started.wait()
    first.reportProgress(0.5)
    first.reject(with: TestError.first)
    await clock.waitForSleeper(dueIn: .seconds(1))
    #expect(whole.fractionCompleted == 0.5)
    clock.advance(by: .seconds(1))
    await second.started.wait()
    second.reportProgress(0.25)
    #expect(whole.fractionCompleted == 0.5)
    second.reportProgress(0.75)
    #expect(whole.fractionCompleted == 0.75)
    second.finish(with: 1)
    #expect(await outcome.value == 1)
  }

  @Test(arguments: [false, true])
  func work_thatIsAnothersToStart_isFollowed(asksLate: Bool) async {
    let work = HeldOperation<Int>()
    await onWorker { work.start() }
    let whole = work.exclusive("z", in: ExclusionRegistry()).condition(Condition("yes") { _ in true })
    if !asksLate { #expect(whole.fractionCompleted == 0) }
    async let outcome = outcomeOfStarting(whole)
    work.reportProgress(0.25)
    #expect(await Patience.reached { whole.fractionCompleted == 0.25 })
    work.reportProgress(0.5)
    #expect(await Patience.reached { whole.fractionCompleted == 0.5 })
    work.finish(with: 1)
    #expect(await outcome.value == 1)
  }
}

/// When the fraction is read for the first time.
private enum Asking: CaseIterable {
  /// Before the start, by an observer as well.
  case early
  /// While a preparation runs.
  case whilePreparing
  /// When the work has reported.
  case late
}

/// The preparation of the work.
enum Preparation: CaseIterable {
  case condition, prerequisite, exclusion, delay, timeout
  case dependencyOfConditional, dependencyOfExclusive, dependencyOfWrapper
  case dependencyAndExclusionAndCondition, conditionInExclusion, delayAndCondition, exclusionInTimeout
}

/// The parent of the prepared operation.
enum Surrounding: CaseIterable {
  case none, timeout, condition, retry, parallel, sequence, then, nested

  /// Its part of the whole.
  var share: Double {
    switch self {
    case .none, .timeout, .condition, .retry: 1
    case .parallel, .sequence, .then: 0.5
    case .nested: 0.25
    }
  }

  func wrap(_ operation: SimpleOperation<Int>, before siblings: [HeldOperation<Int>]) -> SettlingOperation {
    switch self {
    case .none: operation
    case .timeout: operation.timeout(.seconds(60), clock: ManualClock())
    case .condition: operation.condition(Condition { _ in true })
    case .retry: operation.retrying { _ in failing(TestError.first) }
    case .parallel: CompositeOperation(operations: [operation, siblings[0]])
    case .sequence: CompositeOperation(sequence: LinearSequence({ _ in operation }, { _ in siblings[0] }))
    case .then: operation.then { _ in siblings[0] }
    case .nested:
      CompositeOperation(operations: [
        Surrounding.sequence.wrap(Surrounding.exclusive(operation), before: siblings), siblings[1],
      ])
    }
  }

  private static func exclusive(_ operation: SimpleOperation<Int>) -> SimpleOperation<Int> {
    operation.exclusive("nested", in: ExclusionRegistry())
  }
}

/// Work, and the preparation that the test holds back.
private final class PreparedWorld: Sendable {
  let work = HeldOperation<Int>("work")
  private let dependency = HeldOperation<Int>("dependency")
  private let prerequisites = [HeldOperation<Int>("first"), HeldOperation<Int>("second")]
  private let holder = HeldOperation<Int>("holder")
  private let registry = ExclusionRegistry()
  private let clock = ManualClock()
  private let evaluating = Gate()
  private let mayHold = Gate()

  private var condition: Condition {
    Condition("gate") { [evaluating, mayHold] _ in
      evaluating.open()
      await mayHold.wait()
      return true
    }
  }

  func operation(after preparation: Preparation) async -> SimpleOperation<Int> {
    switch preparation {
    case .condition:
      return work.condition(condition)
    case .prerequisite:
      return work.condition(Needing(CompositeOperation(operations: prerequisites)))
    case .exclusion:
      await hold()
      return work.exclusive("z", in: registry)
    case .delay:
      return retrying(work)
    case .timeout:
      return work.timeout(.seconds(60), clock: clock)
    case .dependencyOfConditional:
      work.addDependency(dependency)
      return work.condition(Condition { _ in true })
    case .dependencyOfExclusive:
      work.addDependency(dependency)
      return work.exclusive("z", in: registry)
    case .dependencyOfWrapper:
      let wrapper = work.condition(Condition { _ in true })
      wrapper.addDependency(dependency)
      return wrapper
    case .dependencyAndExclusionAndCondition:
      await hold()
      work.addDependency(dependency)
      return work.condition(condition).exclusive("z", in: registry)
    case .conditionInExclusion:
      return work.condition(condition).exclusive("z", in: registry)
    case .delayAndCondition:
      return retrying(work.condition(condition))
    case .exclusionInTimeout:
      await hold()
      return work.exclusive("z", in: registry).timeout(.seconds(60), clock: clock)
    }
  }

  private func hold() async {
    let holding = holder.exclusive("z", in: registry)
    await onWorker { holding.start() }
    await holder.started.wait()
  }

  private func retrying(_ second: SimpleOperation<Int>) -> SimpleOperation<Int> {
    let policy = RetryPolicy(maxAttempts: 2, backoff: .constant(.seconds(1)), jitter: .none)
    return failing(TestError.first).retrying(policy, clock: clock) { _ in second }
  }

  /// Waits until the preparation runs, if that is visible.
  func untilPreparing(_ preparation: Preparation) async {
    switch preparation {
    case .condition, .conditionInExclusion:
      await evaluating.wait()
    case .prerequisite:
      for prerequisite in prerequisites { await prerequisite.started.wait() }
      prerequisites[0].finish(with: 1)
    case .delay:
      await clock.waitForSleeper(dueIn: .seconds(1))
    case .delayAndCondition:
      await clock.waitForSleeper(dueIn: .seconds(1))
      clock.advance(by: .seconds(1))
      await evaluating.wait()
    case .exclusion, .timeout, .dependencyOfConditional, .dependencyOfExclusive, .dependencyOfWrapper,
      .dependencyAndExclusionAndCondition, .exclusionInTimeout:
      break
    }
  }

  /// Lets the work begin.
  func endPreparation() {
    dependency.finish(with: 1)
    holder.finish(with: 1)
    mayHold.open()
    for prerequisite in prerequisites { prerequisite.finish(with: 1) }
    clock.advance(by: .seconds(1))
  }
}

/// A condition that only has a prerequisite.
private struct Needing: OperationCondition {
  let needed: CompositeOperation

  init(_ needed: CompositeOperation) {
    self.needed = needed
  }

  func prerequisite(for context: ConditionContext) -> Operation? { needed }

  func evaluate(_ context: ConditionContext) async throws {}
}
