import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// Operations that exclude each other.
@Suite("8 Mutual exclusion", .hangLimit)
struct ExclusionTests {
  private let registry = ExclusionRegistry()

  private func start(_ operation: Operation) async {
    await onWorker { operation.start() }
  }

  @Test func operations_ofOneCategory_runOneAfterTheOther() async {
    let gauge = ConcurrencyGauge()
    let operations = (0..<200).map { number in
      AsyncOperation {
        gauge.enter()
        await Task.yield()
        gauge.leave()
        return number
      }.exclusive("x", in: registry)
    }
    #expect(await outcomeOfStarting(all(operations)).value == Array(0..<200))
    #expect(gauge.maximum == 1)
    #expect(registry.isUnused)
  }

  /// Whether the composition has offered itself to the lanes of its queue.
  private func waitsForASlot(_ operation: SettlingOperation) -> Bool {
    guard let composition = operation.composition,
      composition.table.withLock({ $0.step.phase == .listed && $0.blocks.isEmpty })
    else {
      return false
    }
    return composition.environment.pool?.state.withLock { $0.lanes.compositions.contains { $0 === composition } }
      == true
  }

  @Test("8 cancelAllOperations() cancels what waits for its turn, and takes no category for it")
  func cancelAll_whileItWaitsForItsTurn_cancelsIt() async {
    let queue = OperationQueue(limit: 1)
    let (dependency, holder, work) = (HeldOperation<Int>(), HeldOperation<Int>(), succeeding(1))
    work.addDependency(dependency)
    let guarded = work.exclusive("x", in: registry)
    let root = CompositeOperation(operations: [guarded, holder], operationQueue: queue)
    root.failurePolicy = .waitForAll
    await start(root)
    await holder.started.wait()
    // Until it stands in the line of the pool, where the cancel finds it.
    await until(waitsForASlot(guarded))
    queue.cancelAllOperations()
    holder.finish(with: 1)
    #expect(await settled(guarded).isCancelled)
    #expect(registry.isUnused)
    _ = await settled(root)
    await start(dependency)
    dependency.finish(with: 0)
  }

  @Test("A dependency that is added while others are awaited is awaited before a category is taken")
  func dependencyAddedWhileOthersAreAwaited_isAwaitedWithoutTheCategory() async {
    let (first, second, work) = (HeldOperation<Int>(), HeldOperation<Int>(), succeeding(1))
    work.addDependency(first)
    let guarded = work.exclusive("x", in: registry)
    await start(guarded)
    await start(first)
    await settleDown()
    work.addDependency(second)
    first.finish(with: 1)
    await settleDown()
    #expect(registry.isUnused)
    await start(second)
    second.finish(with: 2)
    #expect(await settled(guarded).value == 1)
  }

  @Test(
    "A dependency that is added while it waits for a slot is awaited before a category is taken",
    arguments: [false, true])
  func dependencyAddedWhileItWaitsForASlot_isAwaitedWithoutTheCategory(isNested: Bool) async {
    let queue = OperationQueue()
    queue.isSuspended = true
    let (dependency, work) = (HeldOperation<Int>(), succeeding(1))
    let guarded =
      isNested
      ? work.condition(Condition("c") { _ in true }).exclusive("x", in: registry) : work.exclusive("x", in: registry)
    let root = CompositeOperation(operations: [guarded], operationQueue: queue)
    await start(root)
    await until(waitsForASlot(guarded))
    work.addDependency(dependency)
    queue.isSuspended = false
    await settleDown()
    #expect(registry.isUnused)
    await start(dependency)
    dependency.finish(with: 0)
    #expect(await settled(guarded).value == 1)
    _ = await settled(root)
  }

  @Test func limit_isSemaphore() async {
    registry.setLimit(3, for: "x")
    #expect(registry.limit(for: "x") == 3)
    #expect(registry.limit(for: "y") == 1)
    let held = (0..<5).map { HeldOperation<Int>("\($0)") }
    let together = all(held.map { $0.exclusive("x", in: registry) })
    await start(together)
    // They join the line on workers, so any three of them are first.
    #expect(await registry.reaches(waiting: 2))
    #expect(await Patience.reached { held.count { $0.started.isOpen } == 3 })
    registry.setLimit(4, for: "x")
    #expect(registry.waitingCount == 1)
    #expect(await Patience.reached { held.count { $0.started.isOpen } == 4 })
    for operation in held { operation.finish(with: 1) }
    #expect(await settled(together).value != nil)
  }

  @Test func defaultLimit_isThatOfEveryCategoryWithoutOneOfItsOwn() async {
    let registry = ExclusionRegistry(defaultLimit: 2)
    registry.setLimit(1, for: "y")
    #expect(registry.limit(for: "x") == 2 && registry.limit(for: "y") == 1)
    let held = (0..<3).map { _ in HeldOperation<Int>() }
    let together = all(held.map { $0.exclusive("x", in: registry) })
    await start(together)
    #expect(await registry.reaches(waiting: 1))
    #expect(await Patience.reached { held.count { $0.started.isOpen } == 2 })
    registry.setLimit(2, for: "y")
    #expect(registry.limit(for: "y") == 2)
    for operation in held { operation.finish(with: 1) }
    #expect(await settled(together).value != nil)
    #expect(await registry.reaches(isUnused: true))
  }

  @Test func operations_startInTheOrderInWhichTheyCame() async {
    let recorder = EventRecorder<String>()
    let first = HeldOperation<Int>()
    let wrapped = first.exclusive("x", in: registry)
    await start(wrapped)
    await first.started.wait()
    var others: [SimpleOperation<Int>] = []
    for number in 0..<20 {
      let operation = succeeding(number, named: "\(number)", recorder: recorder).exclusive("x", in: registry)
      // It joins the line on a worker: the next one starts only then.
      await start(operation)
      #expect(await registry.reaches(waiting: number + 1))
      others.append(operation)
    }
    first.finish(with: 0)
    for operation in others { #expect(await settled(operation).value != nil) }
    #expect(recorder.events == (0..<20).map { "\($0)" })
  }

  @Test func plainOperation_givesVoid() async {
    let recorder = EventRecorder<String>()
    let plain: Operation = BlockOperation { recorder.record("ran") }
    let outcome: Outcome<Void> = await outcomeOfStarting(plain.asSimpleOperation().exclusive("x", in: registry))
    #expect(outcome.value != nil)
    let typed: Operation = succeeding(5)
    let second: Outcome<Void> = await outcomeOfStarting(
      typed.asSimpleOperation().exclusive("x", "y", in: registry))
    #expect(second.value != nil)
    #expect(recorder.events == ["ran"])
    #expect(registry.isUnused)
  }

  @Test func noCategories_runAtOnce() async {
    #expect(await outcomeOfStarting(succeeding(1).exclusive([], in: registry)).value == 1)
  }

  @Test func failure_isTheOperationsOwn() async {
    let outcome = await outcomeOfStarting(failing(TestError.first).exclusive("x", in: registry))
    #expect(outcome.error as? TestError == .first)
    #expect(registry.isUnused)
  }

  @Test func waiter_thatIsCancelled_leavesTheLineAtOnce() async {
    let first = HeldOperation<Int>()
    let wrapped = first.exclusive("x", in: registry)
    await start(wrapped)
    await first.started.wait()
    let second = succeeding(2)
    let waiting = second.exclusive("x", "y", in: registry)
    await start(waiting)
    #expect(await registry.reaches(waiting: 1))
    let third = succeeding(3).exclusive("y", in: registry)
    waiting.cancel()
    #expect(await settled(waiting).isCancelled)
    #expect(second.isCancelled && second.isFinished)
    #expect(await outcomeOfStarting(third).value == 3)
    first.finish(with: 1)
    #expect(await settled(wrapped).value == 1)
    #expect(registry.isUnused)
  }

  @Test func waiter_whoseOperationIsCancelled_leavesTheLineAtOnce() async {
    let first = HeldOperation<Int>()
    let wrapped = first.exclusive("x", in: registry)
    await start(wrapped)
    await first.started.wait()
    let second = succeeding(2)
    let waiting = second.exclusive("x", in: registry)
    await start(waiting)
    #expect(await registry.reaches(waiting: 1))
    second.cancel()
    #expect(await settled(waiting).isCancelled)
    #expect(registry.waitingCount == 0)
    first.finish(with: 1)
    _ = await settled(wrapped)
  }

  @Test func category_isHeldUntilTheBodyHasEnded() async {
    let first = HeldOperation<Int>()
    let wrapped = first.exclusive("x", in: registry)
    await start(wrapped)
    await first.started.wait()
    wrapped.cancel()
    await first.cancelRequested.wait()
    let second = HeldOperation<Int>()
    let next = second.exclusive("x", in: registry)
    await start(next)
    #expect(await registry.reaches(waiting: 1))
    #expect(!second.started.isOpen)
    first.finish(with: 1)
    #expect(await settled(wrapped).isCancelled)
    await second.started.wait()
    second.finish(with: 2)
    #expect(await settled(next).value == 2)
  }

  @Test func wrapper_settledFromOutside_leavesTheLineAndCancels() async {
    let first = HeldOperation<Int>(settlesWhenCancelled: true)
    let wrapped = first.exclusive("x", in: registry)
    await start(wrapped)
    await first.started.wait()
    let second = succeeding(2)
    let waiting = second.exclusive("x", in: registry)
    await start(waiting)
    #expect(await registry.reaches(waiting: 1))
    waiting.finish(with: 9)
    #expect(await settled(waiting).value == 9)
    // The worker that put it in line may do that.
    #expect(await settled(second).isCancelled)
    #expect(await registry.reaches(waiting: 0))
    wrapped.finish(with: 8)
    #expect(first.isCancelled)
    #expect(await registry.reaches(isUnused: true))
  }

  @Test func dependencies_areWaitedForWithoutTheCategory() async {
    let dependency = HeldOperation<Int>()
    let operation = succeeding(1)
    operation.addDependency(dependency)
    // The dependency is found inside another wrapper, too.
    let wrapped = operation.condition(Condition("c") { _ in true }).exclusive("x", in: registry)
    await start(wrapped)
    #expect(await outcomeOfStarting(succeeding(2).exclusive("x", in: registry)).value == 2)
    #expect(registry.isUnused)
    await start(dependency)
    dependency.finish(with: 0)
    #expect(await settled(wrapped).value == 1)
  }

  @Test func waiting_takesNoSlot() async {
    let first = HeldOperation<Int>()
    let outside = first.exclusive("x", in: registry)
    await start(outside)
    await first.started.wait()
    let recorder = EventRecorder<String>()
    let composite = CompositeOperation(
      operations: [
        succeeding(1, named: "waits", recorder: recorder).exclusive("x", in: registry),
        succeeding(2, named: "runs", recorder: recorder),
      ], operationQueue: OperationQueue(limit: 1))
    await start(composite)
    await recorder.wait(for: "runs")
    first.finish(with: 1)
    #expect(await settled(composite).value != nil)
    #expect(recorder.events == ["runs", "waits"])
  }

  @Test func category_isReleasedThoughNoSlotIsFree() async {
    let (first, second) = (HeldOperation<Int>(), HeldOperation<Int>())
    let wrapped = first.exclusive("x", in: registry)
    let dependency = HeldOperation<Int>()
    await start(dependency)
    second.addDependency(dependency)
    let composite = CompositeOperation(operations: [second, wrapped], operationQueue: OperationQueue(limit: 1))
    await start(composite)
    await first.started.wait()
    // From now on it waits for the only slot, before anything else.
    dependency.finish(with: 0)
    first.finish(with: 1)
    await second.started.wait()
    #expect(await outcomeOfStarting(succeeding(3).exclusive("x", in: registry)).value == 3)
    second.finish(with: 2)
    #expect(await settled(composite).value != nil)
  }

  @Test(arguments: 1...3) func descendants_haveWhatIsHeldAround(limit: Int) async {
    let queue = OperationQueue(limit: limit)
    let inner = CompositeOperation(
      operations: [
        succeeding(1).exclusive("x", in: registry),
        succeeding(2).exclusive("x", "y", in: registry).then { [registry] _ in
          succeeding(3).exclusive("y", "x", in: registry)
        },
        CompositeOperation(
          sequence: ListSequence([succeeding(4).exclusive("x", in: registry).exclusive("x", in: registry)])),
      ], operationQueue: queue)
    #expect(await outcomeOfStarting(inner.exclusive("x", in: registry)).value != nil)
    #expect(registry.isUnused)
  }

  @Test func operationSomebodyElseStarted_isWaitedForWithTheCategoryHeld() async {
    let held = HeldOperation<Int>()
    await start(held)
    let wrapped = held.exclusive("x", in: registry)
    await start(wrapped)
    #expect(await registry.reaches(isUnused: false))
    let other = succeeding(2).exclusive("x", in: registry)
    await start(other)
    #expect(await registry.reaches(waiting: 1))
    wrapped.cancel()
    #expect(await settled(wrapped).isCancelled)
    #expect(!held.isCancelled)
    #expect(await settled(other).value == 2)
    held.finish(with: 1)
  }

  #if os(macOS) || os(Linux)
  @Test("8 A limit of 0 traps") func limit_ofZero_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      ExclusionRegistry().setLimit(0, for: "login")
    }
    let message = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    for part in ["“login”", "set to 0", "Use 1"] { #expect(message.contains(part)) }
  }

  @Test("8 A default limit of 0 traps") func defaultLimit_ofZero_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = ExclusionRegistry(defaultLimit: 0)
    }
    let message = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    for part in ["default limit of 0", "Use 1"] { #expect(message.contains(part)) }
  }
  #endif

  @Test func registries_areIndependent() async {
    let held = HeldOperation<Int>()
    let wrapped = held.exclusive("x", in: registry)
    await start(wrapped)
    await held.started.wait()
    #expect(await outcomeOfStarting(succeeding(1).exclusive("x", in: ExclusionRegistry())).value == 1)
    held.finish(with: 1)
    _ = await settled(wrapped)
  }
}
