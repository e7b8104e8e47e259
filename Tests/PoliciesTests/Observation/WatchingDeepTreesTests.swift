import Foundation
import TestSupport
import Testing

@testable import CompositeOperations
@testable import OperationTimelines

/// Observing trees that are too deep for recursion.
@Suite("8 Watching: deep trees", .hangLimit)
struct WatchingDeepTreesTests {
  private static let depth = Scale.count(70_000, least: 5_000)

  /// One operation in as many compositions, each in the next.
  private static func nest(_ held: HeldOperation<Int>) -> SimpleOperation<Int> {
    var nested: SimpleOperation<Int> = held
    for _ in 0..<depth { nested = nested.map { $0 } }
    return nested
  }

  @Test func progress_askedForWhileDeepTreeRuns_isThatOfTheLeaf() async {
    let held = HeldOperation<Int>()
    let nested = WatchingDeepTreesTests.nest(held)
    async let outcome = outcomeOfStarting(nested)
    await held.started.wait()
    #expect(await onWorker { nested.fractionCompleted } == 0)
    held.reportProgress(0.5)
    #expect(await onWorker { nested.fractionCompleted } == 0.5)
    #expect(!nested.isProgressIndeterminate)
    held.finish(with: 1)
    #expect(await outcome.value == 1)
    #expect(nested.fractionCompleted == 1)
  }

  @Test func observersOnAllLevels_areTold() async {
    let held = HeldOperation<Int>()
    let count = Locked(0)
    var nested: SimpleOperation<Int> = held
    for _ in 0..<WatchingDeepTreesTests.depth {
      nested = nested.map { $0 }
      nested.addObserver { if $0.kind == .settled { count.withLock { $0 += 1 } } }
    }
    async let outcome = outcomeOfStarting(nested)
    await held.started.wait()
    held.finish(with: 1)
    #expect(await outcome.value == 1)
    #expect(count.current == WatchingDeepTreesTests.depth)
  }

  @Test func recorder_attachedWhileDeepTreeRuns_recordsIt() async {
    let held = HeldOperation<Int>()
    let nested = WatchingDeepTreesTests.nest(held)
    async let outcome = outcomeOfStarting(nested)
    await held.started.wait()
    let recorder = TimelineRecorder()
    await onWorker { recorder.attach(to: nested) }
    held.finish(with: 1)
    #expect(await outcome.value == 1)
    #expect(recorder.timeline.entries.count == WatchingDeepTreesTests.depth + 1)
    #expect(recorder.timeline.entries.allSatisfy { $0.ending == .success })
  }

  @Test func terminal_trackingDeepTree_showsTheLeaf() async {
    let held = HeldOperation<Int>("leaf")
    let nested = WatchingDeepTreesTests.nest(held)
    async let outcome = outcomeOfStarting(nested)
    await held.started.wait()
    let text = Locked("")
    let device = TerminalDevice(canDraw: true, theme: .ascii, size: { (60, 24) }) { written in
      text.withLock { $0 += written }
    }
    let terminal = TerminalProgress(device, maxLines: 5, now: { .zero })
    await onWorker {
      terminal.track(nested, title: "deep")
      terminal.draw()
    }
    // It is written on another thread.
    #expect(await Patience.reached { text.current.contains("leaf") })
    held.finish(with: 1)
    #expect(await outcome.value == 1)
    await terminal.finish()
    #expect(text.current.contains("+ deep"))
  }
}
