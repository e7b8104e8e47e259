import Foundation
import OperationTimelines
import TestSupport
import Testing

// For overrides of `start(byOwner:prepare:)`, which only the package may.
@testable import CompositeOperations

/// Observing that begins just while an operation starts or ends.
@Suite("8 Watching: at the wrong moment", .hangLimit)
struct WatchingRacesTests {
  /// Calls a closure when its parent has reported its start, and it has not begun.
  private final class Hooked: CompositeOperation, @unchecked Sendable {  // set before the start
    var whenStarting: (() -> Void)?

    override func start(byOwner: Bool, prepare: () -> Void) {
      let hook = whenStarting
      whenStarting = nil
      hook?()
      super.start(byOwner: byOwner, prepare: prepare)
    }
  }

  @Test func recorder_attachedJustBeforePartBegins_recordsWhatIsInside() async {
    let leaf = succeeding(1, named: "leaf")
    let part = Hooked(operations: [leaf])
    part.name = "part"
    let whole = CompositeOperation(operations: [part])
    whole.name = "whole"
    let recorder = TimelineRecorder()
    part.whenStarting = { [unowned whole] in recorder.attach(to: whole) }
    _ = await outcomeOfStarting(whole)
    let entries = recorder.timeline.entries
    #expect(entries.compactMap(\.name).sorted() == ["leaf", "part", "whole"])
    #expect(entries.allSatisfy { $0.started != nil && $0.ending == .success })
  }

  @Test func progress_askedForJustBeforePartBegins_followsIt() async {
    let (first, second) = (HeldOperation<Int>("first"), HeldOperation<Int>("second"))
    let part = Hooked(operations: [first, second])
    let whole = CompositeOperation(operations: [part])
    part.whenStarting = { [unowned whole] in _ = whole.fractionCompleted }
    async let outcome = outcomeOfStarting(whole)
    await first.started.wait()
    await second.started.wait()
    first.reportProgress(0.5)
    #expect(whole.fractionCompleted == 0.25)
    first.finish(with: 1)
    second.finish(with: 1)
    _ = await outcome
  }

  /// Calls a closure when its parent has reported its start, and it has not begun.
  private final class HookedLeaf: SimpleOperation<Int>, @unchecked Sendable {  // set before the start
    var whenStarting: (() -> Void)?

    override func start(byOwner: Bool, prepare: () -> Void) {
      let hook = whenStarting
      whenStarting = nil
      hook?()
      super.start(byOwner: byOwner, prepare: prepare)
    }
  }

  @Test(arguments: [false, true])
  func progress_askedForJustBeforeLeafBegins_followsIt(inQueue: Bool) async {
    let started = Gate()
    let leaf = HookedLeaf { _ in started.open() }
    let whole = CompositeOperation(operations: [leaf], operationQueue: inQueue ? OperationQueue() : nil)
    leaf.whenStarting = { [unowned whole] in _ = whole.fractionCompleted }
    async let outcome = outcomeOfStarting(whole)
    await started.wait()
    #expect(
      await Patience.reached {
        leaf.reportProgress(0.25); return whole.fractionCompleted == 0.25
      })
    leaf.finish(with: 1)
    _ = await outcome
  }

  /// Read at any moment of the start, it follows the work, however many operations are around it.
  @Test func progress_askedForWhileItStarts_followsTheWork() async {
    let complaints = await Race.run(rounds: Scale.count(4_000), threads: 2) { _, _ in
      let started = Gate()
      let leaf = SimpleOperation<Int> { _ in started.open() }
      let guarded = leaf.exclusive("x", in: ExclusionRegistry())
      let part = CompositeOperation(sequence: LinearSequence({ _ in guarded }, { _ in succeeding(1) }))
      let whole = CompositeOperation(operations: [part, succeeding(2)])
      return Race.Round(bodies: [{ whole.start() }, { _ = whole.fractionCompleted }]) {
        while !started.isOpen { sched_yield() }
        leaf.reportProgress(0.5)
        // The sibling may still be running, and so may the thread that reports the leaf.
        _ = Patience.isReached { whole.fractionCompleted == 0.625 }
        let fraction = whole.fractionCompleted
        leaf.finish(with: 1)
        whole.waitUntilFinished()
        return complaint("\(fraction)", unless: fraction == 0.625)
      }
    }
    #expect(complaints == [])
  }

  /// As where it is asked for after the sequence has looked for monitors, and before it has a
  /// child.
  @Test func progress_askedForBetweenTheAdditionAndTheStart_followsTheWork() {
    let leaf = HeldOperation<Int>()
    let whole = leaf.map { $0 }
    let node = whole.progressNode()
    node.composition(whole.composition!, willStart: leaf, tag: 1)
    leaf.reportProgress(0.5)
    #expect(whole.fractionCompleted == 0.5)
  }

  @Test func sharedOperation_thatManyHaveWaitedFor_forgetsTheirObservers() async {
    let held = HeldOperation<Int>()
    let shared = CompositeOperation(operations: [held])
    await onWorker { shared.start() }
    await held.started.wait()
    await Patience.untilAwaited(held)
    for _ in 0..<1_000 {
      let waiting = shared.map { $0 }
      let begun = Gate()
      waiting.addTreeObserver { operation, event in if operation === shared, event.kind == .started { begun.open() } }
      await onWorker { waiting.start() }
      await begun.wait()
      waiting.cancel()
      await finished(waiting)
    }
    var count = 0
    shared.composition?.monitors.forEach { count += ($0 as? TreeObserverMonitor)?.hubCount ?? 1 }
    #expect((1..<50).contains(count))
    let told = EventRecorder<String>()
    shared.addTreeObserver { operation, event in told.record("\(operation === shared) \(event.kind)") }
    held.finish(with: 1)
    _ = await settled(shared)
    #expect(told.events == ["false settled", "true settled"])
  }

  @Test func progress_askedForInCompletion_isThatOfTheEnd() {
    let operation = succeeding(1)
    let seen = Locked<[Double]>([])
    operation.completion = { [unowned operation] _ in
      let progress = operation.progress
      let values = [operation.fractionCompleted, progress.fractionCompleted, progress.isIndeterminate ? 1 : 0]
      seen.withLock { $0 += values }
    }
    operation.start()
    #expect(seen.current == [1, 1, 0])
  }

  @Test func progress_ofTinyWeights_isInProportion() async {
    let children = (0..<1000).map { _ in HeldOperation<Int>() }
    for child in children { child.progressWeight = 1e-12 }
    let composite = CompositeOperation(operations: children)
    _ = composite.fractionCompleted
    async let outcome = outcomeOfStarting(composite)
    for child in children { await child.started.wait() }
    for child in children.prefix(500) { child.finish(with: 1) }
    // The composite hears of a child only when its start() has returned.
    #expect(await Patience.reached { abs(composite.fractionCompleted - 0.5) < 0.001 })
    for child in children.suffix(500) { child.finish(with: 1) }
    _ = await outcome
    #expect(composite.fractionCompleted == 1)
  }

  @Test(arguments: [0, 1e300, .greatestFiniteMagnitude]) func progress_ofExtremeWeights_staysWithinBounds(
    weight: Double
  ) async {
    let children = (0..<10).map { _ in HeldOperation<Int>() }
    for child in children { child.progressWeight = weight }
    let composite = CompositeOperation(operations: children)
    let progress = composite.progress
    async let outcome = outcomeOfStarting(composite)
    for child in children { await child.started.wait() }
    var fractions: [Double] = []
    for child in children {
      child.finish(with: 1)
      fractions.append(composite.fractionCompleted)
    }
    _ = await outcome
    #expect(fractions == fractions.sorted() && fractions.allSatisfy { (0...1).contains($0) })
    #expect(composite.fractionCompleted == 1)
    // The writing thread may be delayed in between, and no other waits for it.
    await until(progress.fractionCompleted >= 1)
  }

  @Test func retrying_progress_neverGoesBack() async throws {
    let fractions = Locked<[Double]>([])
    let operation = retrying(RetryPolicy(maxAttempts: 3, backoff: .noDelay)) { attempt in
      AsyncOperation<Int> { progress in
        for step in 1...10 { progress.report(Double(step) / 10) }
        if attempt.number < 3 { throw TestError.first }
        return attempt.number
      }
    }
    operation.addObserver { if let fraction = $0.fractionCompleted { fractions.withLock { $0.append(fraction) } } }
    let recorder = TimelineRecorder()
    recorder.attach(to: operation)
    #expect(try await operation.run() == 3)
    #expect(fractions.current == fractions.current.sorted() && fractions.current.allSatisfy { (0...1).contains($0) })
    #expect(operation.fractionCompleted == 1)
    #expect(recorder.timeline.entries.filter { $0.parent == 1 }.map(\.attempt) == [1, 2, 3])
  }

  @Test func observer_settlingCompositionsAtStart_releasesTheChildren() async {
    for kind in 0..<8 {
      let references = await settleAtStart(kind)
      for reference in references { await untilReleased(reference) }
      #expect(references.allSatisfy { $0.object == nil }, "kind \(kind)")
    }
  }

  private func settleAtStart(_ kind: Int) async -> [WeakReference<Operation>] {
    let leaf = succeeding(1, named: "leaf")
    let operation: SimpleOperation<Int> =
      switch kind {
      case 0: leaf.then { succeeding($0) }
      case 1: leaf.map { $0 }
      case 2: leaf.recover { _ in succeeding(1) }
      case 3: zip(leaf, succeeding(2)).map { $0 + $1 }
      case 4: leaf.timeout(.seconds(100))
      case 5: leaf.exclusive("a")
      case 6: retrying(RetryPolicy(maxAttempts: 2)) { _ in leaf }
      default: firstSuccess(of: [leaf, succeeding(2)])
      }
    operation.addObserver { [unowned operation] event in
      if event.kind == .started { operation.settle(with: .success(7)) }
    }
    let outcome = await outcomeOfStarting(operation)
    #expect(outcome.value == 7, "kind \(kind)")
    // Policies own what they run. Other compositions leave an operation alone that they did not
    // start.
    if kind == 4 || kind == 5 { await finished(leaf) }
    return ([leaf, operation] as [Operation]).map { WeakReference($0) }
  }

  @Test func recorder_ofTimeoutThatSettlesAtOnce_isSound() async {
    let slow = HeldOperation<Int>("slow")
    let wrapped = slow.timeout(.milliseconds(1))
    let after = succeeding(1, named: "after")
    let whole = wrapped.recover { _ in succeeding(0) }.then { _ in after }
    let recorder = TimelineRecorder()
    recorder.attach(to: whole)
    _ = await outcomeOfStarting(whole)
    let early = recorder.timeline
    #expect(complaints(about: early) == [])
    slow.finish(with: 1)
    #expect(await Patience.reached { recorder.timeline.entries.allSatisfy { $0.settled != nil } })
    let late = recorder.timeline
    #expect(complaints(about: late) == [])
    #expect(late.criticalPath.compactMap { id in late.entries[id - 1].name }.last == "after")
  }

  /// The child of a timeout may outlive it.
  private func complaints(about timeline: Timeline) -> [String] {
    TimelineSoundness.complaints(about: timeline).filter { !$0.contains("after its parent at") }
  }

  @Test func entries_ofChildThatOutlivesItsParent_areSettledOnceItHasFinished() async {
    for _ in 0..<300 {
      let slow = HeldOperation<Int>("slow")
      let recorder = TimelineRecorder()
      let whole = slow.map { $0 }
      recorder.attach(to: whole)
      async let outcome = outcomeOfStarting(whole)
      await slow.started.wait()
      whole.settle(with: .success(3))
      _ = await outcome
      Thread.detachNewThread { slow.finish(with: 1) }
      await until(slow.isFinished)
      #expect(recorder.timeline.entries.allSatisfy { $0.settled != nil })
    }
  }
}
