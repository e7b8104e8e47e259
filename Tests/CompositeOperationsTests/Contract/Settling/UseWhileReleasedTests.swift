import CompositeOperations
import Foundation
import TestSupport
import Testing

/// An object that an operation releases may run code in its deinitializer, and that code may use
/// the operation.
@Suite("3.1 What an operation releases may use it", .hangLimit)
struct UseWhileReleasedTests {
  /// Runs code when the last reference to it ends.
  private final class Farewell: Sendable {
    private let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    deinit { body() }
  }

  @Test("3.1.1 A body that is released unrun finds the outcome readable, and can neither settle nor cancel")
  func unrunBody_releasedBySettling_findsOutcome() {
    let seen = Locked<[Outcome<Int>?]>([])
    let slot = Locked<SimpleOperation<Int>?>(nil)
    let operation = SimpleOperation<Int> { [farewell = Farewell { UseWhileReleasedTests.use(slot, seen) }] operation in
      withExtendedLifetime(farewell) { _ = operation.finish(with: 1) }
    }
    slot.withLock { $0 = operation }
    operation.finish(with: 2)
    #expect(seen.current.map { $0?.value } == [2])
    #expect(operation.outcome?.value == 2)
    #expect(!operation.isCancelled)
  }

  @Test("3.1.1 The work of an AsyncOperation that is released unrun finds the outcome readable")
  func unrunWork_releasedBySettling_findsOutcome() {
    let seen = Locked<[Outcome<Int>?]>([])
    let slot = Locked<SimpleOperation<Int>?>(nil)
    let operation = AsyncOperation<Int> { [farewell = Farewell { UseWhileReleasedTests.use(slot, seen) }] in
      withExtendedLifetime(farewell) { 1 }
    }
    slot.withLock { $0 = operation }
    operation.finish(with: 2)
    #expect(seen.current.map { $0?.value } == [2])
    #expect(operation.outcome?.value == 2)
  }

  @Test("3.1.3 A value discarded because of a cancel finds the operation settled as cancelled when it is released")
  func discardedValue_released_findsCancelled() {
    let wasCancelled = Locked<[Bool]>([])
    let operation = HeldOperation<Farewell>()
    operation.start()
    operation.cancel()
    operation.finish(
      with: Farewell { [weak operation] in
        operation?.cancel()
        operation?.settle(with: .cancelled)
        wasCancelled.withLock { $0.append(operation?.outcome?.isCancelled == true) }
      })
    #expect(wasCancelled.current == [true])
  }

  private static func use(_ slot: Locked<SimpleOperation<Int>?>, _ seen: Locked<[Outcome<Int>?]>) {
    let operation = slot.current
    operation?.finish(with: 3)
    operation?.cancel()
    seen.withLock { $0.append(operation?.outcome) }
  }
}
