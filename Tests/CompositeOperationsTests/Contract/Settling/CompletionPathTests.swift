import CompositeOperations
import Foundation
import TestSupport
import Testing

/// `completion` runs exactly once on every path. A path starts its operation and ends it.
@Suite("3.1.2 completion exactly once on every path", .hangLimit)
struct CompletionPathTests {
  @Test("3.1.2 Simple operations: exactly one completion, with the outcome, on each path", arguments: SimplePath.all)
  func simple_eachPath_completesOnce(path: SimplePath) async {
    let operation = path.make()
    let spy = CompletionSpy<Int>()
    operation.completion = spy.completion
    await path.run(operation)
    let outcome = await settled(operation)
    pokeAfterSettling(operation)
    #expect(spy.count == 1)
    #expect(Ending(spy.outcomes.first) == path.ending)
    #expect(Ending(outcome) == path.ending)
    #expect(operation.isFinished)
    #expect(!operation.isExecuting)
    #expect(operation.isCancelled == (path.ending == .cancelled))
  }

  @Test("3.1.2 Composites: exactly one completion, with the outcome, on each path", arguments: CompositePath.all)
  func composite_eachPath_completesOnce(path: CompositePath) async {
    let operation = path.make()
    let spy = CompletionSpy<[any Sendable]>()
    operation.completion = spy.completion
    await path.run(operation)
    let outcome = await settled(operation)
    operation.cancel()
    operation.start()
    #expect(spy.count == 1)
    #expect(Ending(spy.outcomes.first) == path.ending)
    #expect(Ending(outcome) == path.ending)
    #expect(operation.isFinished)
    #expect(!operation.isExecuting)
    #expect(operation.isCancelled == (path.ending == .cancelled))
  }

  @Test("3.1.2 The default main of a Void operation completes once")
  func defaultMainOfVoid_completesOnce() {
    let operation = SimpleOperation<Void>()
    let spy = CompletionSpy<Void>()
    operation.completion = spy.completion
    operation.start()
    #expect(spy.count == 1)
    #expect(operation.result != nil)
  }

  @Test("3.1.2 A child that the composite will not run completes once")
  func child_notRun_completesOnce() async {
    let spy = CompletionSpy<Int>()
    let child = succeeding(1)
    child.completion = spy.completion
    let composite = CompositeOperation(operations: [failing(TestError.first), child])
    composite.maxConcurrentOperationCount = 1
    _ = await outcomeOfStarting(composite)
    #expect(spy.count == 1)
    #expect(spy.outcomes.first?.isCancelled == true)
  }

  /// Everything that must not call `completion` a second time.
  private func pokeAfterSettling(_ operation: SimpleOperation<Int>) {
    operation.finish(with: 99)
    operation.reject(with: TestError("late"))
    operation.settle(with: .cancelled)
    operation.cancel()
    operation.start()
  }
}
