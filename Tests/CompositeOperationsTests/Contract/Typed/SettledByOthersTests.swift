import CompositeOperations
import Foundation
import TestSupport
import Testing

/// A typed composition is a `SimpleOperation`, so any code may settle it. Its parts are then not
/// left behind.
@Suite("3.3 Typed compositions that others settle", .hangLimit)
struct SettledByOthersTests {
  private static func forms(_ leaf: HeldOperation<Int>) -> [SimpleOperation<Int>] {
    [
      leaf.map { $0 }, leaf.then { value in SimpleOperation { $0.finish(with: value) } },
      leaf.mapAsync { $0 }, leaf.recover { _ in SimpleOperation { $0.finish(with: 0) } },
      zip(leaf, HeldOperation<Int>()).map { $0.0 }, all([leaf]).map { $0[0] }, firstSuccess(of: [leaf]),
    ]
  }

  @Test("Settled before its start: the operations inside are cancelled and finish without running", arguments: 0..<7)
  func settled_beforeStart_settlesWhatIsInside(form: Int) async {
    let leaf = HeldOperation<Int>()
    let operation = SettledByOthersTests.forms(leaf)[form]
    #expect(operation.finish(with: 5))
    #expect(await settled(leaf).isCancelled)
    #expect(!leaf.started.isOpen)
    #expect(operation.outcome?.value == 5)
    operation.start()
    #expect(operation.isFinished)
  }

  @Test("Settled by an observer in its call for the start: the same", arguments: 0..<7)
  func settled_whenToldOfTheStart_settlesWhatIsInside(form: Int) async {
    let leaf = HeldOperation<Int>()
    let operation = SettledByOthersTests.forms(leaf)[form]
    operation.addObserver { [weak operation] event in
      if event.kind == .started { operation?.finish(with: 5) }
    }
    operation.start()
    #expect(await settled(leaf).isCancelled)
    #expect(!leaf.started.isOpen)
    #expect(operation.outcome?.value == 5)
  }

  @Test("Settled while it runs: the running operation is cancelled", arguments: 0..<7)
  func settled_whileRunning_cancelsWhatIsInside(form: Int) async {
    let leaf = HeldOperation<Int>(settlesWhenCancelled: true)
    let operation = SettledByOthersTests.forms(leaf)[form]
    await onWorker { operation.start() }
    await leaf.started.wait()
    #expect(operation.finish(with: 5))
    #expect(await settled(leaf).isCancelled)
    #expect(operation.outcome?.value == 5)
  }

  @Test("Settled while it waits for what others run: that is left alone", arguments: 0..<7)
  func settled_whileJoined_leavesItAlone(form: Int) async {
    let leaf = HeldOperation<Int>()
    leaf.start()
    let operation = SettledByOthersTests.forms(leaf)[form]
    await onWorker { operation.start() }
    #expect(operation.finish(with: 5))
    #expect(!leaf.isCancelled)
    leaf.finish(with: 1)
    #expect(await settled(leaf).value == 1)
    #expect(operation.outcome?.value == 5)
  }
}
