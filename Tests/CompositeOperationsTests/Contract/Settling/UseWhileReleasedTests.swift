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

  /// An operation that runs code when it is released, and before in its body.
  private final class Leaf: SimpleOperation<Void>, @unchecked Sendable {
    private let body: @Sendable () -> Void
    private let atEnd: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void = {}, atEnd: @escaping @Sendable () -> Void) {
      self.body = body
      self.atEnd = atEnd
      super.init()
    }

    override func perform() { body() }
    deinit { atEnd() }
  }

  @Test("3.3 A child that is released on a worker settles another sequence's child: that sequence goes on")
  func deinitOfChild_settlesAnother_whoseSequenceGoesOn() async {
    let waiter = HeldOperation<Void>()
    let other = CompositeOperation(sequence: { $0 == nil ? waiter : nil })
    other.start()
    await waiter.started.wait()
    let first = CompositeOperation(sequence: { previous in
      previous == nil ? CompositeOperation(operations: [Leaf { waiter.finish(with: ()) }]) : nil
    })
    first.start()
    #expect(await settled(first).value != nil)
    #expect(await settled(other).value != nil)
  }

  @Test("3.4 A child that a lane of a queue releases may resume a composite of the same queue")
  func deinitOfChild_inQueue_mayUseCompositeOfTheSameQueue() async {
    let outer = Locked<WeakReference<CompositeOperation>?>(nil)
    let released = Gate()
    let composite = CompositeOperation(
      sequence: { previous in
        guard previous == nil else { return nil }
        let leaf = Leaf {
          outer.current?.object?.isSuspended = false
          released.open()
        }
        return CompositeOperation(operations: [leaf, BlockOperation {}])
      }, operationQueue: OperationQueue(limit: 1))
    outer.withLock { $0 = WeakReference(composite) }
    composite.start()
    _ = await settled(composite)
    await released.wait()
  }

  @Test("3.3 A child that a cancel between two steps releases may use the sequence")
  func cancel_betweenTwoSteps_childMayUseTheSequence() async {
    let slot = Locked<WeakReference<CompositeOperation>?>(nil)
    let leaf = Locked<WeakReference<Leaf>?>(nil)
    let seen = Gate()
    let composite = CompositeOperation(sequence: { previous in
      guard previous == nil else { return nil }
      let made = Leaf {
        slot.current?.object?.isSuspended = true
      } atEnd: {
        _ = slot.current?.object?.isSuspended
        _ = slot.current?.object?.operations
        seen.open()
      }
      leaf.withLock { $0 = WeakReference(made) }
      return made
    })
    slot.withLock { $0 = WeakReference(composite) }
    composite.start()
    await until(leaf.current?.object?.isFinished == true)
    await settleDown()
    composite.cancel()
    await seen.wait()
    #expect(await settled(composite).isCancelled)
  }

  private static func use(_ slot: Locked<SimpleOperation<Int>?>, _ seen: Locked<[Outcome<Int>?]>) {
    let operation = slot.current
    operation?.finish(with: 3)
    operation?.cancel()
    seen.withLock { $0.append(operation?.outcome) }
  }
}
