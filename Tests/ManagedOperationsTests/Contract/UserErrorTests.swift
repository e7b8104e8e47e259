import CompositeOperations
import ManagedOperations
import TestSupport
import Testing

/// The user's objects are released under no lock of the manager: these errors would deadlock on it.
@Suite("6 Errors of the user's", .timeLimit(.minutes(30))) struct UserErrorTests {
  /// Uses the manager when it goes.
  private final class BusyError: Error {
    let manager: OperationManager
    let released: Gate

    init(_ manager: OperationManager, released: Gate) {
      self.manager = manager
      self.released = released
    }

    deinit {
      _ = manager.heldTaskCount
      released.open()
    }
  }

  private func manager(_ react: @escaping @Sendable (ReactionContext) async throws -> Reaction) -> OperationManager {
    OperationManager(
      reactors: [
        .reacting(key: { _ in nil }, when: { outcome, _ in outcome.error != nil }, react),
        .reacting(key: { _ in nil }, when: { outcome, _ in outcome.error is TestError }) { _ in
          try await Gate().waitUnlessCancelled()
          return .deliver
        },
      ], clock: ManualClock())
  }

  @Test func attempts_failWithoutOperation_oneAfterTheOther() async {
    let manager = manager { _ in .requeue() }
    let released = [Gate(), Gate()]
    let handle = manager.add(
      Scripted<Int> { attempt in
        guard attempt > 2 else { throw BusyError(manager, released: released[attempt - 1]) }
        return succeeding(attempt)
      })
    #expect(await settled(handle).value == 3)
    for gate in released { await gate.wait() }
  }

  @Test func attempt_failsWithItsOperation() async {
    let manager = manager { _ in .requeue() }
    let released = Gate()
    let handle = manager.add(
      Scripted<Int> { $0 == 1 ? failing(BusyError(manager, released: released)) : succeeding($0) })
    #expect(await settled(handle).value == 2)
    await released.wait()
  }

  @Test("An answer that no longer matters, since the task was cancelled while another reactor reacted")
  func answer_ofACancelledTask() async {
    let released = Gate()
    let weakManager = Locked<OperationManager?>(nil)
    let answered = Gate()
    let manager = manager { _ in
      defer { answered.open() }
      return .fail(BusyError(weakManager.current!, released: released))
    }
    weakManager.withLock { $0 = manager }
    let handle = manager.add(Scripted<Int> { _ in failing(TestError.first) })
    await answered.wait()
    handle.cancel()
    await released.wait()
    await manager.waitUntilIdle()
    weakManager.withLock { $0 = nil }
  }

  @Test func answer_ofTheLesserReactor() async {
    let released = Gate()
    let gate = Gate()
    let strong = Locked<OperationManager?>(nil)
    let manager = OperationManager(
      reactors: [
        .reacting(when: { outcome, _ in outcome.error != nil }) { _ in .fail(TestError.second) },
        .reacting(when: { outcome, _ in outcome.error != nil }) { _ in
          await gate.wait()
          throw BusyError(strong.current!, released: released)
        },
      ], clock: ManualClock())
    strong.withLock { $0 = manager }
    let handle = manager.add(Scripted<Int> { _ in failing(TestError.first) })
    gate.open()
    #expect(await settled(handle).error as? TestError == .second)
    await released.wait()
    strong.withLock { $0 = nil }
  }
}
