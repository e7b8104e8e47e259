import Foundation
import TestSupport
import Testing

@testable import CompositeOperations
@testable import OperationTimelines

/// Operations that start in the moment in which something is attached to them.
@Suite("Starts while attaching", .hangLimit)
struct StartWhileAttachingTests {
  /// Starts when it is first asked whether it executes, after the answer is known.
  private final class HastyOperation: SimpleOperation<Int>, @unchecked Sendable {  // its own state is behind a lock
    private let wasAsked = Locked(false)

    override func main() {}

    override var isExecuting: Bool {
      let isFirst = wasAsked.withLock { wasAsked in
        defer { wasAsked = true }
        return !wasAsked
      }
      guard isFirst else { return super.isExecuting }
      start()
      return false
    }
  }

  @Test func recorder_whileAnOperationStarts_recordsTheStart() {
    let recorder = TimelineRecorder()
    let operation = HastyOperation()
    recorder.attach(to: operation)
    operation.finish(with: 1)
    let entries = recorder.timeline.entries
    #expect(entries.count == 1 && entries.allSatisfy { $0.started != nil && $0.ending == .success })
  }

  @Test func terminal_whileAnOperationStarts_countsItsTime() async {
    let text = Locked("")
    let device = TerminalDevice(canDraw: false, theme: .ascii, size: { (60, 24) }) { written in
      text.withLock { $0 += written }
    }
    let terminal = TerminalProgress(device, maxLines: 1, now: { .zero })
    let operation = HastyOperation()
    terminal.track(operation, title: "hasty")
    operation.finish(with: 1)
    await terminal.finish()
    #expect(text.current == "+ hasty (0:00)\n")
  }

  /// Calls a closure when a child starts, before monitors that were added earlier hear of the
  /// start.
  private final class StartHook: CompositionMonitor {
    private let whenStarted: @Sendable () -> Void

    init(_ whenStarted: @escaping @Sendable () -> Void) {
      self.whenStarted = whenStarted
    }

    func composition(_ composition: Composition, didAdd child: Operation, tag: Int) {}
    func composition(_ composition: Composition, willStart child: Operation, tag: Int) { whenStarted() }
    func composition(_ composition: Composition, didSettle child: Operation, tag: Int) {}
  }

  @Test func recorder_whileOtherCodeStartsAChild_recordsWhatRunsInIt() async {
    let leaf = HeldOperation<Int>("leaf")
    let inner = leaf.guarded(by: CircuitBreaker())
    let outer = inner.map { $0 }
    let recorder = TimelineRecorder()
    recorder.attach(to: outer)
    let hook = StartHook {
      Thread.detachNewThread { inner.start() }
      // Its start is reported before its composition waits for its end.
      _ = Patience.isReached { leaf.state.current.has(.hasListeners) }
    }
    outer.composition?.addMonitor(hook, isInherited: false)
    await onThread { outer.start() }
    await Patience.untilAwaited(leaf)
    await Patience.untilAwaited(inner)
    leaf.finish(with: 1)
    #expect(await settled(outer).value == 1)
    let entries = recorder.timeline.entries
    #expect(entries.count == 3 && entries.allSatisfy { $0.started != nil && $0.ending == .success }, "\(entries)")
  }
}
