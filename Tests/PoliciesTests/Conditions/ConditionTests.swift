import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// Operations that run only under a condition.
@Suite("8 Conditions", .hangLimit)
struct ConditionTests {
  private let recorder = EventRecorder<String>()

  /// A condition that records its evaluations, and holds unless it has an error.
  private struct Recording: OperationCondition {
    let name: String
    let recorder: EventRecorder<String>
    var error: (any Error)?
    var makePrerequisite: (@Sendable () -> Operation)?

    func prerequisite(for context: ConditionContext) -> Operation? {
      recorder.record("\(name) asked")
      return makePrerequisite?()
    }

    func evaluate(_ context: ConditionContext) async throws {
      recorder.record("\(name) evaluated")
      if let error { throw error }
    }
  }

  private func condition(
    _ name: String, _ error: (any Error)? = nil, prerequisite: (@Sendable () -> Operation)? = nil
  ) -> Recording {
    Recording(name: name, recorder: recorder, error: error, makePrerequisite: prerequisite)
  }

  private func main(_ value: Int = 1) -> SimpleOperation<Int> {
    succeeding(value, named: "main", recorder: recorder)
  }

  // MARK: - Order

  @Test func conditions_areEvaluatedAfterDependenciesAndPrerequisites_beforeMain() async {
    let dependency = HeldOperation<Int>()
    let prerequisite = HeldOperation<Int>()
    let operation = main()
    operation.addDependency(dependency)
    let wrapped = operation.condition(condition("c", prerequisite: { prerequisite }))
    await onWorker { wrapped.start() }
    #expect(recorder.events == [])
    await onWorker { dependency.start() }
    dependency.finish(with: 1)
    await prerequisite.started.wait()
    #expect(recorder.events == ["c asked"])
    prerequisite.finish(with: 1)
    #expect(await settled(wrapped).value == 1)
    #expect(recorder.events == ["c asked", "c evaluated", "main"])
  }

  @Test func prerequisites_runInParallel_andMayEndInAnyWay() async {
    let (first, second, third) = (HeldOperation<Int>(), HeldOperation<Int>(), HeldOperation<Int>())
    let wrapped = main().condition(
      .all([
        condition("a", prerequisite: { first }), condition("b", prerequisite: { second }),
        condition("c", prerequisite: { third }),
      ]))
    await onWorker { wrapped.start() }
    for operation in [first, second, third] { await operation.started.wait() }
    first.reject(with: TestError.first)
    second.settle(with: .cancelled)
    #expect(!third.isCancelled)
    third.finish(with: 1)
    #expect(await settled(wrapped).value == 1)
    #expect(recorder.events.last == "main")
  }

  @Test func prerequisiteSomebodyElseStarted_isWaitedFor() async {
    let shared = HeldOperation<Int>()
    let both = all((0..<2).map { _ in main().condition(condition("c", prerequisite: { shared })) })
    await onWorker { both.start() }
    await shared.started.wait()
    shared.finish(with: 1)
    #expect(await settled(both).value == [1, 1])
  }

  #if os(macOS) || os(Linux)
  @Test func prerequisite_thatIsTheOperation_traps() async throws {
    struct Circular: OperationCondition {
      func prerequisite(for context: ConditionContext) -> Operation? { context.operation }
      func evaluate(_ context: ConditionContext) {}
    }
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let operation = succeeding(1)
      operation.name = "upload"
      _ = try await operation.condition(Circular()).run()
    }
    let message = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    for part in ["“upload”", "its own prerequisite", "Return another"] { #expect(message.contains(part)) }
  }
  #endif

  @Test func severalConditions_areEvaluatedConcurrently() async {
    let (first, second) = (Gate(), Gate())
    let wrapped = main().condition(
      Condition("a") { _ in
        first.open()
        await second.wait()
        return true
      }
        && Condition("b") { _ in
          await first.wait()
          second.open()
          return true
        })
    #expect(await outcomeOfStarting(wrapped).value == 1)
  }

  @Test func stackedConditions_areEvaluatedFromTheOutside() async {
    let wrapped = main().condition(condition("inner")).condition(condition("outer"))
    #expect(await outcomeOfStarting(wrapped).value == 1)
    #expect(recorder.events == ["outer asked", "outer evaluated", "inner asked", "inner evaluated", "main"])
  }

  @Test func noConditions_justRun() async {
    #expect(await outcomeOfStarting(main().condition(.all([]))).value == 1)
  }

  @Test func plainOperation_givesVoid() async {
    let block: Operation = BlockOperation { [recorder] in recorder.record("block") }
    let met: Outcome<Void> = await outcomeOfStarting(block.asSimpleOperation().condition(condition("c")))
    #expect(met.value != nil)
    let other = BlockOperation { [recorder] in recorder.record("never") }
    let unmet: Outcome<Void> = await outcomeOfStarting(
      other.asSimpleOperation().condition(condition("d", TestError.first)))
    #expect(unmet.error is ConditionError)
    #expect(other.isCancelled && other.isFinished)
    #expect(recorder.events == ["c asked", "c evaluated", "block", "d asked", "d evaluated"])
  }

  // MARK: - Not met

  @Test func conditionsNotMet_failWithAllOfThem() async throws {
    let operation = main()
    operation.name = "upload"
    let wrapped = operation.condition(
      condition("a", TestError.first) && condition("b") && Condition("c") { _ in false })
    let error = try #require(await outcomeOfStarting(wrapped).error as? ConditionError)
    #expect(error.failures.map(\.conditionName) == ["a", "c"])
    #expect(error.failures[0].error as? TestError == .first)
    #expect(error.failures[1].error is ConditionError.Unmet)
    #expect(operation.isCancelled && operation.isFinished)
    #expect(!wrapped.isCancelled)
    #expect(recorder.count(of: "main") == 0)
    #expect(
      "\(error)" == """
        “upload” (SimpleOperation<Int>) did not run, because 2 conditions do not hold:
          a: test error first
          c: it does not hold
        Start a new operation when they hold.
        """)
  }

  @Test func conditionNotMet_operationStartedElsewhere_isLeftAlone() async {
    let operation = HeldOperation<Int>("upload")
    operation.start()
    let outcome = await outcomeOfStarting(operation.condition(Condition("c") { _ in false }))
    #expect(
      outcome.error.map { "\($0)" } == """
        “upload” (HeldOperation<Int>) has been started elsewhere, and was not waited for, because a condition does not hold:
          c: it does not hold
        The outcome of the operation itself tells how it ends.
        """)
    operation.finish(with: 1)
    #expect(operation.result == 1)
  }

  @Test func conditionNotMet_abandonsCompositeAndWaitsForIt() async {
    let child = HeldOperation<Int>()
    let composite = CompositeOperation(operations: [child, CompositeOperation(operations: [main()])])
    let wrapped = composite.condition(Condition("never") { _ in throw TestError.first })
    #expect(await outcomeOfStarting(wrapped).error is ConditionError)
    #expect(composite.isFinished && child.isFinished && child.isCancelled)
    #expect(!child.started.isOpen)
  }

  @Test func cancellationError_cancels() async {
    let operation = main()
    let wrapped = operation.condition(
      Condition("a") { _ in throw CancellationError() } && condition("b", TestError.first))
    #expect(await outcomeOfStarting(wrapped).isCancelled)
    #expect(operation.isCancelled && recorder.count(of: "main") == 0)
  }

  // MARK: - Cancelling

  @Test func cancel_beforeStart_evaluatesNothing() async {
    let operation = main()
    let wrapped = operation.condition(condition("c"))
    wrapped.cancel()
    #expect(await outcomeOfStarting(wrapped).isCancelled)
    #expect(operation.isFinished && recorder.events == [])
  }

  @Test func cancel_whileDependenciesAreWaitedFor_settles() async {
    let dependency = HeldOperation<Int>()
    let operation = main()
    operation.addDependency(dependency)
    let wrapped = operation.condition(condition("c"))
    await onWorker { wrapped.start() }
    wrapped.cancel()
    #expect(await settled(wrapped).isCancelled)
    #expect(operation.isFinished && recorder.events == [])
  }

  @Test func cancel_whilePrerequisiteRuns_cancelsIt() async {
    let prerequisite = HeldOperation<Int>(settlesWhenCancelled: true)
    let operation = main()
    let wrapped = operation.condition(condition("c", prerequisite: { prerequisite }))
    await onWorker { wrapped.start() }
    await prerequisite.started.wait()
    wrapped.cancel()
    #expect(await settled(wrapped).isCancelled)
    #expect(prerequisite.isCancelled && operation.isFinished && recorder.events == ["c asked"])
  }

  @Test func cancel_whileEvaluated_cancelsTheTask() async {
    let evaluated = Gate()
    let operation = main()
    let wrapped = operation.condition(
      Condition("c") { _ in
        evaluated.open()
        try await Gate().waitUnlessCancelled()
        return true
      })
    await onWorker { wrapped.start() }
    await evaluated.wait()
    wrapped.cancel()
    #expect(await settled(wrapped).isCancelled)
    #expect(operation.isFinished && recorder.events == [])
  }

  @Test func cancelOfTheOperation_whileEvaluated_cancelsTheWrapper() async {
    let (evaluated, goOn) = (Gate(), Gate())
    let operation = main()
    let wrapped = operation.condition(
      Condition("c") { _ in
        evaluated.open()
        await goOn.wait()
        return true
      })
    await onWorker { wrapped.start() }
    await evaluated.wait()
    operation.cancel()
    goOn.open()
    #expect(await settled(wrapped).isCancelled)
    #expect(recorder.events == [])
  }

  @Test func cancelOfTheOperation_whileDependenciesAreWaitedFor_skipsAll() async {
    let dependency = HeldOperation<Int>()
    let operation = main()
    operation.addDependency(dependency)
    let wrapped = operation.condition(condition("c"))
    await onWorker { wrapped.start() }
    operation.cancel()
    #expect(await settled(wrapped).isCancelled)
    #expect(recorder.events == [])
  }

  @Test(arguments: [true, false])
  func endOfTheOperation_insideTwoGuards_whileDependenciesAreWaitedFor_skipsAll(isCancel: Bool) async {
    let dependency = HeldOperation<Int>()
    let operation = main()
    operation.addDependency(dependency)
    let wrapped = operation.condition(condition("c")).exclusive("x", in: ExclusionRegistry())
    await onWorker { wrapped.start() }
    await settleDown()
    if isCancel { operation.cancel() } else { operation.settle(with: .cancelled) }
    #expect(await settled(wrapped).isCancelled)
    #expect(recorder.events == [])
  }

  @Test func cancel_whileTheOperationRuns_cancelsIt() async {
    let held = HeldOperation<Int>(settlesWhenCancelled: true)
    let wrapped = held.condition(condition("c"))
    await onWorker { wrapped.start() }
    await held.started.wait()
    wrapped.cancel()
    #expect(await settled(wrapped).isCancelled)
  }

  @Test func wrapper_settledFromOutside_cancelsWhatIsUnderWay() async {
    let prerequisite = HeldOperation<Int>(settlesWhenCancelled: true)
    let operation = main()
    let wrapped = operation.condition(condition("c", prerequisite: { prerequisite }))
    await onWorker { wrapped.start() }
    await prerequisite.started.wait()
    wrapped.finish(with: 9)
    #expect(prerequisite.isCancelled)
    #expect(await settled(operation).isCancelled)
    #expect(await settled(wrapped).value == 9)
    #expect(recorder.events == ["c asked"])
  }

  @Test func wrapper_settledBeforeItStarts_abandonsTheOperation() async {
    let operation = main()
    let wrapped = operation.condition(condition("c"))
    wrapped.finish(with: 9)
    #expect(await settled(operation).isCancelled)
    #expect(await outcomeOfStarting(wrapped).value == 9)
    #expect(recorder.events == [])
  }

  // MARK: - Others

  @Test func operationSomebodyElseStarted_isNotHeldBackNorCancelled() async {
    let (first, second) = (HeldOperation<Int>(), HeldOperation<Int>())
    for held in [first, second] { await onWorker { held.start() } }
    let unmet = first.condition(condition("a", TestError.first))
    #expect(await outcomeOfStarting(unmet).error is ConditionError)
    #expect(!first.isCancelled)
    first.finish(with: 1)
    let met = second.condition(condition("b"))
    await onWorker { met.start() }
    second.finish(with: 2)
    #expect(await settled(met).value == 2)
  }

  @Test func waiting_takesNoSlot() async {
    let (evaluated, goOn) = (HeldOperation<Int>(), Gate())
    await onWorker { evaluated.start() }
    let other = SimpleOperation<Int> { operation in
      goOn.open()
      operation.finish(with: 2)
    }
    other.addDependency(evaluated)
    let wrapped = main().condition(
      Condition("c") { _ in
        evaluated.finish(with: 1)
        await goOn.wait()
        return true
      })
    let composite = CompositeOperation(operations: [wrapped, other], operationQueue: OperationQueue(limit: 1))
    #expect(await outcomeOfStarting(composite).value != nil)
  }

  @Test("Pain 1: of 10,000 operations with conditions in a queue all settle", arguments: [1, 4])
  func manyConditions_inAQueue_allSettle(limit: Int) async {
    let queue = OperationQueue(limit: limit)
    let count = Scale.count(10_000, least: 3_000)
    let ran = Locked(0)
    let operations = (0..<count).map { number in
      SimpleOperation<Int> { operation in
        ran.increment()
        operation.finish(with: number)
      }.condition(Condition("number \(number)") { _ in number % 10 != 0 })
    }
    queue.add(operations)
    var met = 0
    for (number, operation) in operations.enumerated() {
      switch await settled(operation) {
      case .success(let value) where value == number: met += 1
      case .failure(let error) where error is ConditionError && number % 10 == 0: break
      default: Issue.record("\(operation)")
      }
    }
    #expect(met == ran.current && met == count - (count + 9) / 10)
  }

  @Test(
    "An operation that is cancelled while its condition, or a prerequisite, takes its time", arguments: [false, true])
  func cancelOfTheOperation_endsWhatComesBefore(hasPrerequisite: Bool) async {
    let operation = succeeding(1)
    let never = NeverFinishingOperation<Void>()
    let entered = Gate()
    let guarded = operation.condition(
      Waiting(prerequisite: hasPrerequisite ? never : nil) {
        entered.open()
        try await Gate().waitUnlessCancelled()
      })
    await onWorker { guarded.start() }
    await (hasPrerequisite ? never.started : entered).wait()
    operation.cancel()
    #expect(await settled(guarded).isCancelled)
    #expect(!hasPrerequisite || never.isCancelled && !entered.isOpen)
  }

  private struct Waiting: OperationCondition {
    let prerequisite: Operation?
    let wait: @Sendable () async throws -> Void

    func prerequisite(for context: ConditionContext) -> Operation? { prerequisite }

    func evaluate(_ context: ConditionContext) async throws { try await wait() }
  }
}
