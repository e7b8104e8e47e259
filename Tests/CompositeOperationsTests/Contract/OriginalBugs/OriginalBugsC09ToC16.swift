import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("The original's bugs C9 to C16", .hangLimit)
struct OriginalBugsC09ToC16 {
  @Test("C9 A composite with a child that never settles on its own is ended by a cancel, and goes when it settled")
  func c9_childNeverSettling_isEndedByCancel() async {
    let reference = await {
      let child = HeldOperation<Int>(settlesWhenCancelled: true)
      let composite = CompositeOperation(operations: [child, succeeding(1)])
      await onWorker { composite.start() }
      await child.started.wait()
      composite.cancel()
      #expect(await settled(composite).isCancelled)
      return WeakReference(composite)
    }()
    await untilReleased(reference)
  }

  @Test("C10 A completion that captures its operation leaks nothing")
  func c10_completionCapturingItsOperation_leaksNothing() async {
    let references: [WeakReference<Operation>] = await {
      let simple = succeeding(1)
      simple.completion = { _ in _ = simple.result }
      let composite = CompositeOperation(operations: [simple])
      composite.completion = { _ in _ = composite.results }
      _ = await outcomeOfStarting(composite)
      return [WeakReference(simple), WeakReference(composite)]
    }()
    for reference in references { await untilReleased(reference) }
  }

  @Test("C11 The children's completionBlock stays the user's, parallel and sequential")
  func c11_completionBlockOfChildren_isCalled() async {
    let recorder = EventRecorder<String>()
    let children = ["parallel", "step"].map { name in
      let child = succeeding(name)
      child.completionBlock = { recorder.record(name) }
      return child
    }
    _ = await outcomeOfStarting(
      CompositeOperation(operations: [
        children[0], CompositeOperation(sequence: ListSequence([children[1]])),
      ]))
    await recorder.wait(forCount: 2)
    #expect(recorder.events.sorted() == ["parallel", "step"])
  }

  @Test("C12 A sequence is a value: used again, it starts again instead of succeeding with nothing")
  func c12_sequenceUsedAgain_startsAgain() async {
    let linear = LinearSequence({ _ in succeeding(1) }, { _ in succeeding(2) })
    let retry = RetrySequence(maxAttempts: 2) { attempt in
      attempt == 1 ? failing(TestError.first) : succeeding(attempt)
    }
    for _ in 0..<3 {
      #expect(await outcomeOfStarting(CompositeOperation(sequence: linear)).value as? [Int] == [1, 2])
      #expect(await outcomeOfStarting(CompositeOperation(sequence: retry)).value as? [Int] == [2])
    }
  }

  @Test("C13 Retry counts attempts, makes each anew, never retries a cancelled one, and takes composites")
  func c13_retry_makesEachAttemptAnew() async {
    let made = Locked<[ObjectIdentifier]>([])
    let kept = Locked<[Operation]>([])
    let composite = CompositeOperation(
      sequence: RetrySequence(maxAttempts: 3) { _ in
        let attempt = CompositeOperation(operations: [failing(TestError.first)])
        made.withLock { $0.append(ObjectIdentifier(attempt)) }
        kept.withLock { $0.append(attempt) }
        return attempt
      })
    #expect(await outcomeOfStarting(composite).error is CompositeError)
    #expect(Set(made.current).count == 3)
    #expect(composite.errors.count == 3)

    let attempts = Locked(0)
    let cancelled = CompositeOperation(
      sequence: RetrySequence(maxAttempts: 3) { _ in
        attempts.increment()
        return cancelling()
      })
    #expect(await outcomeOfStarting(cancelled).isCancelled)
    #expect(attempts.current == 1)
  }

  @Test("C14 Steps are typed: the value of one is the argument of the next")
  func c14_steps_areTyped() async throws {
    let length: Int = try await succeeding("four").then { text in
      AsyncOperation { text.count }
    }.map { $0 + 1 }.run()
    #expect(length == 5)
  }

  @Test("C15 A composite can be subclassed, with its initialisers")
  func c15_composite_canBeSubclassed() async {
    let parallel = Download(parts: 3)
    #expect(await outcomeOfStarting(parallel).value as? [Int] == [0, 1, 2])
    let sequential = Steps()
    sequential.cancel()
    #expect(await outcomeOfStarting(sequential).isCancelled)
    let running = Steps()
    #expect(await outcomeOfStarting(running).value as? [Int] == [1])
  }

  @Test("C15 A subclass' didCancel is called")
  func c15_subclass_isToldOfItsCancel() async {
    let download = Download(parts: 0, held: HeldOperation<Int>(settlesWhenCancelled: true))
    await onWorker { download.start() }
    await download.held?.started.wait()
    download.cancel()
    #expect(download.cancelled.isOpen)
    #expect(await settled(download).isCancelled)
  }

  @Test("C16 A step with unmet dependencies waits for them; a used one fails clearly; neither hangs")
  func c16_stepNotReady_waits() async {
    let dependency = HeldOperation<Int>()
    let step = succeeding(1)
    step.addDependency(dependency)
    let waiting = CompositeOperation(sequence: ListSequence([step]))
    await onWorker { waiting.start() }
    dependency.start()
    dependency.finish(with: 0)
    #expect(await settled(waiting).value as? [Int] == [1])
    #expect(await outcomeOfStarting(CompositeOperation(sequence: ListSequence([step]))).error is CompositeError)
  }
}

/// A user's subclass of a parallel composite.
private final class Download: CompositeOperation, @unchecked Sendable {
  let cancelled = Gate()
  let held: HeldOperation<Int>?

  init(parts: Int, held: HeldOperation<Int>? = nil) {
    self.held = held
    super.init(operations: (0..<parts).map { succeeding($0) } + (held.map { [$0] } ?? []))
  }

  override func didCancel() { cancelled.open() }
}

/// A user's subclass of a sequential composite.
private final class Steps: CompositeOperation, @unchecked Sendable {
  init() {
    super.init(sequence: LinearSequence({ _ in succeeding(1) }))
  }
}
