import CompositeOperations
import Foundation
import TestSupport
import Testing

/// A hundred thousand levels of nesting, built, run and released on a stack of 512 KiB.
@Suite("3.4 Iterative everywhere: nesting", .serialized)
struct DepthTests {
  enum Path: CaseIterable, Sendable {
    case started, failing, neverStarted, cancelledBeforeStart, cancelledWhileInnermostRuns
  }

  @Test(arguments: NestingForm.allCases, Path.allCases)
  func deepNesting_onSmallStack_endsAndIsReleased(form: NestingForm, path: Path) async {
    let depth = Scale.count(100_000, least: 2_000)
    let (leaf, outcome) = await onThread(stackSize: 512 * 1024) { DepthTests.run(form, path, depth) }
    switch path {
    case .neverStarted:
      break
    case .started:
      #expect(outcome?.isSuccess == true)
      if let value = form.value(depth: depth) { #expect(outcome == .success(.number(value))) }
    case .failing:
      #expect(outcome?.isSuccess == form.handlesFailures)
    case .cancelledBeforeStart, .cancelledWhileInnermostRuns:
      #expect(outcome == .cancelled)
    }
    let isReleased = await Patience.reached { leaf.object == nil }
    #expect(isReleased)
  }

  /// Builds, runs and releases; returns the outcome, without the nested results of composites.
  private static func run(
    _ form: NestingForm, _ path: Path, _ depth: Int
  ) -> (WeakReference<HeldOperation<Int>>, Verdict?) {
    let leaf = HeldOperation<Int>()
    var root: (any ComposableOperation)? = form.make(depth: depth, around: leaf)
    let outcome = root.flatMap { run($0, path, leaf) }
    var last: Operation? = root.take()
    // The thread that ran the last of it may hold it for a moment; the release must happen here, on
    // the small stack.
    while !isKnownUniquelyReferenced(&last) { DispatchQueue.global().sync {} }
    let reference = WeakReference(leaf)
    last = nil
    return (reference, outcome)
  }

  private static func run(_ root: some ComposableOperation, _ path: Path, _ leaf: HeldOperation<Int>) -> Verdict? {
    switch path {
    case .neverStarted:
      return nil
    case .started:
      root.start()
      leaf.started.waitBlocking()
      leaf.finish(with: 0)
    case .failing:
      root.start()
      leaf.started.waitBlocking()
      leaf.reject(with: TestError.first)
    case .cancelledBeforeStart:
      root.cancel()
      root.start()
    case .cancelledWhileInnermostRuns:
      root.start()
      leaf.started.waitBlocking()
      root.cancel()
      leaf.finish(with: 0)
    }
    root.waitUntilFinished()
    switch root.outcome {
    case .success(let value): return .success((value as? Int).map { .number($0) } ?? .unit)
    // Not the error itself, which may be as deep as the operations.
    case .failure: return .failure(.library)
    case .cancelled: return .cancelled
    case nil: return nil
    }
  }
}

extension Optional {
  /// Empties it and returns what was in it.
  fileprivate mutating func take() -> Wrapped? {
    defer { self = nil }
    return self
  }
}
