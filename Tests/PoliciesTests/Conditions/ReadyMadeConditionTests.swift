import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// The conditions that come with the package.
@Suite("8 Conditions: dependencies and reachability", .hangLimit)
struct ReadyMadeConditionTests {
  private func ended<O: Operation>(_ operation: O) async -> O {
    await onWorker { operation.start() }
    await finished(operation)
    return operation
  }

  @Test func dependencies_ofBothOperations_areLookedAt() async throws {
    let failed: SimpleOperation<Int> = failing(TestError.first, named: "check")
    let cancelled: SimpleOperation<Int> = cancelling(named: "draw")
    let plain = BlockOperation {}
    plain.cancel()
    for operation in [failed, cancelled, plain, succeeding(1)] as [Operation] { _ = await ended(operation) }
    let operation = succeeding(1)
    operation.addDependency(failed)
    operation.addDependency(plain)
    let wrapped = operation.condition(.noCancelledDependencies && .noFailedDependencies)
    wrapped.addDependency(cancelled)
    let error = try #require(await outcomeOfStarting(wrapped).error as? ConditionError)
    #expect(error.failures.map(\.conditionName) == ["noCancelledDependencies", "noFailedDependencies"])
    let cancellations = try #require(error.failures[0].error as? DependencyError)
    #expect(Set(cancellations.dependencies) == [cancelled, plain])
    let failures = try #require(error.failures[1].error as? DependencyError)
    #expect(failures.dependencies == [failed])
    #expect("\(failures)" == "“check” (SimpleOperation<Int>) failed: test error first")
    #expect("\(cancellations)".contains("“draw” (SimpleOperation<Int>) was cancelled"))
  }

  /// An operation that has failed because of its dependencies.
  private static func failed(becauseOf dependencies: [Operation]) -> SimpleOperation<Int> {
    let failure = ConditionError.Failure(conditionName: "c", error: DependencyError(dependencies: dependencies))
    let operation = SimpleOperation<Int>()
    operation.reject(with: ConditionError(failures: [failure]))
    return operation
  }

  @Test func textOfTheError_dependenciesFailedBecauseOfTheirs_namesEach() throws {
    let check: SimpleOperation<Int> = SimpleOperation()
    check.name = "check"
    check.reject(with: TestError.first)
    let last = Self.failed(becauseOf: [check, Self.failed(becauseOf: [check])])
    let error = try #require((last.failure as? ConditionError)?.failures.first?.error)
    #expect(
      "\(error)" == """
        2 dependencies did not succeed:
          “check” (SimpleOperation<Int>) failed: test error first
          SimpleOperation<Int> failed: The operation did not run, because a condition does not hold:
            c: “check” (SimpleOperation<Int>) failed: test error first
        """)
  }

  @Test("The text is made in a moment, though it could say the same three to the power of 30 times")
  func textOfTheError_stagesThatDependOnAllOfTheOneBefore_isBounded() {
    var stage: [Operation] = (0..<3).map { _ in
      let operation = SimpleOperation<Int>()
      operation.reject(with: TestError.first)
      return operation
    }
    for _ in 0..<30 {
      let before = stage
      stage = (0..<3).map { _ in Self.failed(becauseOf: before) }
    }
    #expect("\(stage[0].failure!)".utf8.count < 2 * ErrorReport.maxLength)
  }

  @Test("A hundred thousand that failed because of the one before: the text, and the release, on a stack of 512 KiB")
  func textOfTheError_longChain_usesConstantStack() async {
    let isTold = await onThread {
      var last = SimpleOperation<Int>()
      last.reject(with: TestError.first)
      for _ in 0..<100_000 { last = Self.failed(becauseOf: [last]) }
      return "\(last.failure!)".contains("test error first")
    }
    #expect(isTold)
  }

  @Test func dependencies_thatSucceeded_areFine() async {
    let operation = succeeding(1)
    for _ in 0..<3 { operation.addDependency(await ended(succeeding(1))) }
    operation.addDependency(await ended(BlockOperation {}))
    #expect(await outcomeOfStarting(operation.condition(.noFailedDependencies && .noCancelledDependencies)).value == 1)
  }

  @Test func dependencies_insideOtherWrappers_areLookedAt() async {
    let operation = succeeding(1)
    operation.addDependency(await ended(failing(TestError.first)))
    let wrapped = operation.exclusive("x", in: ExclusionRegistry()).condition(.noFailedDependencies)
    #expect(await outcomeOfStarting(wrapped).error is ConditionError)
    // And those of wrappers outside.
    let inner = succeeding(1).condition(.noFailedDependencies).exclusive("x", in: ExclusionRegistry())
    inner.addDependency(await ended(failing(TestError.first)))
    #expect(await outcomeOfStarting(inner).error is ConditionError)
  }

  @Test(arguments: [false, true])
  func dependencyAddedWhileTheConditionWaits_isLookedAt(isInsideAnotherWrapper: Bool) async throws {
    let first = HeldOperation<Int>("first"), second = HeldOperation<Int>("second")
    let operation = succeeding(1)
    operation.addDependency(first)
    let condition = operation.condition(.noFailedDependencies)
    let wrapped = isInsideAnotherWrapper ? condition.exclusive("x", in: ExclusionRegistry()) : condition
    await onWorker { wrapped.start() }
    operation.addDependency(second)
    for dependency in [first, second] { await onWorker { dependency.start() } }
    first.finish(with: 1)
    second.reject(with: TestError.second)
    let error = try #require(await settled(wrapped).error as? ConditionError)
    #expect((error.failures.first?.error as? DependencyError)?.dependencies == [second])
  }

  @Test func dependencyRemovedWhileTheConditionWaits_isNotLookedAt() async {
    let dependency = HeldOperation<Int>("check")
    let operation = succeeding(1)
    operation.addDependency(dependency)
    let wrapped = operation.condition(Condition("independent") { $0.dependencies.isEmpty })
    await onWorker { wrapped.start() }
    operation.removeDependency(dependency)
    #expect(await settled(wrapped).value == 1)
    await onWorker { dependency.start() }
    dependency.finish(with: 1)
  }

  private func independent(isForeign: Bool) -> (Operation, SimpleOperation<Int>) {
    func conditional(_ operation: some ComposableOperation<Int>) -> (Operation, SimpleOperation<Int>) {
      (operation, operation.condition(.noFailedDependencies))
    }
    return isForeign ? conditional(ConformingOperation { .success(1) }) : conditional(succeeding(1))
  }

  @Test(arguments: [true, false])
  func dependencyOfAnOperationQueuedElsewhere_isAwaited_andItsFailureSeen(isForeign: Bool) async throws {
    let dependency = HeldOperation<Int>("check"), queue = OperationQueue()
    let (operation, wrapped) = independent(isForeign: isForeign)
    operation.addDependency(dependency)
    queue.addOperation(operation)
    await onWorker { wrapped.start() }
    queue.addOperation(dependency)
    await dependency.started.wait()
    dependency.reject(with: TestError.first)
    let error = try #require(await settled(wrapped).error as? ConditionError)
    #expect((error.failures.first?.error as? DependencyError)?.dependencies == [dependency])
  }

  @Test(arguments: [true, false])
  func operationQueuedElsewhere_cancelledWhileItsDependencyIsAwaited_endsTheWait(isForeign: Bool) async {
    let dependency = HeldOperation<Int>("check"), queue = OperationQueue()
    let (operation, wrapped) = independent(isForeign: isForeign)
    operation.addDependency(dependency)
    queue.addOperation(operation)
    await onWorker { wrapped.start() }
    operation.cancel()
    #expect(await settled(wrapped).isCancelled)
    dependency.finish(with: 1)
    await onWorker { dependency.start() }
  }

  @Test(arguments: [true, false])
  func wrapper_cancelledWhileItAwaitsTheDependencyOfAnOperationQueuedElsewhere_leavesThatAlone(isForeign: Bool) async {
    let dependency = HeldOperation<Int>("check"), queue = OperationQueue()
    let (operation, wrapped) = independent(isForeign: isForeign)
    operation.addDependency(dependency)
    queue.addOperation(operation)
    await onWorker { wrapped.start() }
    wrapped.cancel()
    #expect(await settled(wrapped).isCancelled)
    #expect(!operation.isCancelled && !operation.isFinished)
    queue.addOperation(dependency)
    await dependency.started.wait()
    dependency.finish(with: 1)
    await finished(operation)
    #expect(!operation.isCancelled)
  }

  @Test func unreachable_fails_orWaits() async throws {
    let network = ManualReachabilityMonitor(isReachable: false)
    let error = await outcomeOfStarting(succeeding(1).condition(.reachable(monitor: network))).error as? ConditionError
    let failure = try #require(error).failures[0]
    #expect(failure.conditionName == "reachable" && "\(failure.error)" == "the network cannot be reached")
    let waiting = ManualReachabilityMonitor(isReachable: false)
    let wrapped = succeeding(1).condition(.reachable(monitor: waiting, waits: true))
    await onWorker { wrapped.start() }
    await waiting.wait(forWatchers: 1)
    #expect(!wrapped.isFinished)
    waiting.isReachable = false
    waiting.isReachable = true
    #expect(await settled(wrapped).value == 1)
    await waiting.wait(forWatchers: 0)
  }

  @Test func waitingForTheNetwork_canBeCancelled() async {
    let network = ManualReachabilityMonitor(isReachable: false)
    let wrapped = succeeding(1).condition(.reachable(monitor: network, waits: true))
    await onWorker { wrapped.start() }
    await network.wait(forWatchers: 1)
    wrapped.cancel()
    #expect(await settled(wrapped).isCancelled)
    await network.wait(forWatchers: 0)
  }

  #if !canImport(Network)
  @Test func systemMonitor_onLinux_isAlwaysReachable() async {
    #expect(await outcomeOfStarting(succeeding(1).condition(.reachable())).value == 1)
  }
  #endif
}
