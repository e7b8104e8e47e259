import CompositeOperations
import Foundation
import TestSupport
import Testing

/// A cancel may come at any time, on any thread, also inside the operation's own closures.
@Suite("3.1.4 cancel() from inside", .hangLimit)
struct CancelFromInsideTests {
  @Test("3.1.4 Cancel from inside main, then finish: .cancelled, the hook called once")
  func cancel_insideMain_discardsResult() {
    let calls = Locked(0)
    let accepted = Locked<Bool?>(nil)
    let operation = SimpleOperation<Int> { operation in
      operation.cancel()
      let isAccepted = operation.finish(with: 1)
      accepted.withLock { $0 = isAccepted }
    }
    operation.onCancel = { calls.increment() }
    operation.start()
    #expect(operation.outcome?.isCancelled == true)
    #expect(accepted.current == false)
    #expect(calls.current == 1)
    #expect(operation.isFinished)
  }

  @Test("3.1.4 Cancel from inside main that settles in onCancel: the rest of main runs, nothing else happens")
  func cancel_insideMainSettlingInHook_isCancelled() {
    let spy = CompletionSpy<Int>()
    let operation = SimpleOperation<Int> { operation in
      operation.cancel()
      operation.finish(with: 1)
    }
    operation.onCancel = { [unowned operation] in operation.settle(with: .cancelled) }
    operation.completion = spy.completion
    operation.start()
    #expect(operation.outcome?.isCancelled == true)
    #expect(spy.count == 1)
  }

  @Test("3.1.4 Settling from inside onCancel calls no hook of another operation that is cancelled with this one")
  func settle_insideOnCancel_callsNoOtherHook() async {
    let key = "is inside a hook"
    let nestedHooks = Locked(0)
    let leaves = (0..<3).map { _ in HeldOperation<Int>() }
    for leaf in leaves {
      leaf.onCancel = { [unowned leaf] in
        let thread = Thread.current
        if thread.threadDictionary[key] != nil { nestedHooks.increment() }
        thread.threadDictionary[key] = true
        leaf.settle(with: .cancelled)
        thread.threadDictionary[key] = nil
      }
    }
    let book = CompositeOperation(operations: leaves.map { CompositeOperation(operations: [$0]) })
    let shelf = CompositeOperation(operations: [book])
    shelf.start()
    for leaf in leaves { await leaf.started.wait() }
    shelf.cancel()
    #expect(await settled(shelf).isCancelled)
    #expect(nestedHooks.current == 0)
  }

  @Test("3.1.4 Cancel from inside completion has no effect")
  func cancel_insideCompletion_hasNoEffect() {
    let hook = Gate()
    let operation = HeldOperation<Int>()
    operation.onCancel = { hook.open() }
    operation.completion = { [unowned operation] _ in operation.cancel() }
    operation.start()
    operation.finish(with: 1)
    #expect(operation.result == 1)
    #expect(!operation.isCancelled)
    #expect(!hook.isOpen)
  }

  @Test("3.1.4 Cancel from inside onCancel does not call it again")
  func cancel_insideOnCancel_isNotRepeated() {
    let calls = Locked(0)
    let operation = HeldOperation<Int>()
    operation.onCancel = { [unowned operation] in
      calls.increment()
      operation.cancel()
    }
    operation.start()
    operation.cancel()
    operation.finish(with: 1)
    #expect(calls.current == 1)
    #expect(operation.outcome?.isCancelled == true)
  }

  @Test("3.1.4 Settling from inside onCancel: .cancelled, whatever is given")
  func finish_insideOnCancel_isCancelled() {
    let operation = HeldOperation<Int>()
    operation.onCancel = { [unowned operation] in operation.finish(with: 1) }
    operation.start()
    operation.cancel()
    #expect(operation.outcome?.isCancelled == true)
    #expect(operation.isFinished)
  }

  @Test("3.1.4 Both hooks are called, also when the first of them settles the operation")
  func onCancel_besideSettlingDidCancel_isCalled() {
    let calls = Locked(0)
    let operation = HeldOperation<Int>(settlesWhenCancelled: true)
    operation.onCancel = { calls.increment() }
    operation.start()
    operation.cancel()
    #expect(operation.cancelRequested.isOpen)
    #expect(calls.current == 1)
  }

  @Test("3.1.4 Cancelling another operation from inside a hook works")
  func cancel_ofAnotherInsideHook_works() {
    let second = HeldOperation<Int>(settlesWhenCancelled: true)
    let first = HeldOperation<Int>()
    first.onCancel = { second.cancel() }
    first.start()
    second.start()
    first.cancel()
    first.settle(with: .cancelled)
    #expect(second.outcome?.isCancelled == true)
  }

  @Test(
    "3.1.4 Cancel of a composite from inside a child's main, completion and onCancel", arguments: CancelPlace.allCases)
  func cancelComposite_insideChild_settlesCancelled(place: CancelPlace) async {
    let box = Locked<CompositeOperation?>(nil)
    let cancelComposite: @Sendable () -> Void = { box.current?.cancel() }
    let child = SimpleOperation<Int> { operation in
      if place == .main { cancelComposite() }
      if place == .onCancel { operation.cancel() }
      operation.finish(with: 1)
    }
    if place == .completion { child.completion = { _ in cancelComposite() } }
    if place == .onCancel { child.onCancel = { cancelComposite() } }
    let never = HeldOperation<Int>(settlesWhenCancelled: true)
    let composite = CompositeOperation(operations: [child, never])
    composite.maxConcurrentOperationCount = 1
    box.withLock { $0 = composite }
    let outcome = await outcomeOfStarting(composite)
    box.withLock { $0 = nil }
    #expect(outcome.isCancelled)
    #expect(composite.isCancelled)
    #expect(!never.started.isOpen)
    #expect(never.isFinished)
    #expect((child.result == 1) == (place == .completion))
  }

  @Test("3.1.4 Cancel of a composite from inside its delegate")
  func cancelComposite_insideDelegate_settlesCancelled() async {
    let box = Locked<CompositeOperation?>(nil)
    let never = HeldOperation<Int>()
    let composite = CompositeOperation(
      sequence: ClosureSequence { _ in
        box.current?.cancel()
        return never
      })
    box.withLock { $0 = composite }
    let outcome = await outcomeOfStarting(composite)
    box.withLock { $0 = nil }
    #expect(outcome.isCancelled)
    #expect(!never.started.isOpen)
    #expect(composite.childOutcomes.allSatisfy { $0 != nil })
  }
}

/// Where a child cancels its composite.
enum CancelPlace: CaseIterable, Sendable {
  case main, completion, onCancel
}
