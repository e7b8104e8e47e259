import CompositeOperations
import Foundation
import TestSupport
import Testing

@testable import OperationTimelines

@Suite("Terminal: tracked operations", .hangLimit)
struct TerminalProgressTests {
  /// One for which no time passes, and which draws when the test says.
  private static func still(_ device: TerminalDevice, maxLines: Int) -> TerminalProgress {
    TerminalProgress(device, maxLines: maxLines, now: { .zero })
  }

  /// What was written, and a device that writes there.
  private static func device(canDraw: Bool) -> (TerminalDevice, Locked<String>) {
    let text = Locked("")
    let device = TerminalDevice(canDraw: canDraw, theme: .ascii, size: { (60, 24) }) { written in
      text.withLock { $0 += written }
    }
    return (device, text)
  }

  @Test func lines_whereNothingCanBeDrawn_areThoseOfTheEnds() async {
    let (device, text) = TerminalProgressTests.device(canDraw: false)
    let terminal = TerminalProgressTests.still(device, maxLines: 10)
    let running = HeldOperation<Int>("running")
    let over = succeeding(1, named: "over")
    over.start()
    terminal.track(over)
    terminal.track(running)
    terminal.track(failing(TestError.first, named: "never started"))
    terminal.print("a word")
    terminal.draw()
    running.start()
    running.reportProgress(0.5)
    terminal.draw()
    running.reject(with: TestError.first)
    terminal.draw()
    await terminal.finish()
    #expect(text.current == "+ over\na word\nrunning: 50 %  0:00\nx running (0:00): test error first\n")
  }

  @Test(arguments: [false, true])
  func finish_whileSomethingRuns_leavesNothingAsleep(canDraw: Bool) async {
    let clock = ManualClock()
    let terminal = TerminalProgress(TerminalProgressTests.device(canDraw: canDraw).0, maxLines: 10, clock: clock)
    terminal.track(HeldOperation<Int>("running"))
    await clock.waitForSleeper()
    await terminal.finish()
    await clock.waitUntilIdle()
    #expect(clock.sleeperCount == 0)
  }

  @Test(arguments: [false, true])
  func trackedAgain_afterAllHaveSettled_isDrawnAtIntervals(canDraw: Bool) async {
    let clock = ManualClock(), interval = canDraw ? Duration.milliseconds(100) : .seconds(10)
    let (device, text) = TerminalProgressTests.device(canDraw: canDraw)
    let terminal = TerminalProgress(device, maxLines: 10, clock: clock)
    for name in ["one", "two"] {
      let operation = HeldOperation<Int>(name)
      operation.start()
      terminal.track(operation)
      for _ in 0..<3 {
        await clock.waitForSleeper(dueIn: interval)
        clock.advance(by: interval)
      }
      await clock.waitForSleeper(dueIn: interval)
      operation.finish(with: 1)
      clock.advance(by: interval)
      await clock.waitUntilIdle()
    }
    await terminal.finish()
    let (one, two) = (text.current.ranges(of: "one").count, text.current.ranges(of: "two").count)
    #expect(one >= 4 && two >= 4, "\(text.current)")
  }

  /// Holds up the thread that makes a line of it.
  private struct SlowError: Error, CustomStringConvertible {
    let isAsked = Gate()
    let goesOn = Gate()

    var description: String {
      isAsked.open()
      goesOn.waitBlocking()
      return "slow"
    }
  }

  @Test(arguments: [false, true]) func finish_whileALineIsMade_waitsForIt(canDraw: Bool) async {
    let (device, text) = TerminalProgressTests.device(canDraw: canDraw)
    let terminal = TerminalProgressTests.still(device, maxLines: 10)
    let (operation, error) = (HeldOperation<Int>("held"), SlowError())
    operation.start()
    terminal.track(operation)
    DispatchQueue.global().async { operation.reject(with: error) }
    await error.isAsked.wait()
    let hasFinished = Gate()
    let end = Task {
      await terminal.finish()
      hasFinished.open()
    }
    await settleDown()
    // The end of this writing is not what it waits for.
    terminal.print("a word")
    #expect(await Patience.reached { text.current.contains("a word\n") })
    await settleDown()
    #expect(!hasFinished.isOpen)
    error.goesOn.open()
    await end.value
    #expect(text.current.hasSuffix("a word\nx held (0:00): slow\n"), "\(text.current)")
  }

  @Test(arguments: [false, true]) func end_whileItIsBeingDrawn_isNotFollowedByABar(canDraw: Bool) async {
    let (device, text) = TerminalProgressTests.device(canDraw: canDraw)
    let operation = HeldOperation<Int>("held")
    let isDrawing = Locked(false)
    // The time is read between the reading of what is tracked and the drawing.
    let now = { @Sendable () -> Duration in
      if isDrawing.withLock({ isOn in
        defer { isOn = false }; return isOn
      }) {
        operation.finish(with: 1)
      }
      return .zero
    }
    let terminal = TerminalProgress(device, maxLines: 10, now: now)
    operation.start()
    terminal.track(operation)
    isDrawing.withLock { $0 = true }
    terminal.draw()
    await terminal.finish()
    #expect(text.current == "+ held (0:00)\n")
  }

  @Test func release_whileSomethingRuns_leavesNothingAsleep() async {
    let clock = ManualClock()
    do {
      let terminal = TerminalProgress(TerminalProgressTests.device(canDraw: true).0, maxLines: 10, clock: clock)
      terminal.track(HeldOperation<Int>("running"))
      await clock.waitForSleeper()
    }
    await clock.waitUntilIdle()
  }

  @Test func bars_ofNestedComposites_showWhatRuns() async {
    let (device, text) = TerminalProgressTests.device(canDraw: true)
    let terminal = TerminalProgressTests.still(device, maxLines: 10)
    let leaves = (0..<3).map { HeldOperation<Int>("leaf-\($0)") }
    let unnamed = leaves[0].map { $0 }
    let named = CompositeOperation(operations: [leaves[1], leaves[2]])
    named.name = "inner"
    let root = CompositeOperation(operations: [unnamed, named])
    terminal.track(root, title: "all")
    async let outcome = outcomeOfStarting(root)
    for leaf in leaves { await leaf.started.wait() }
    leaves[1].reportProgress(0.5)
    terminal.draw()
    leaves[2].finish(with: 1)
    #expect(await Patience.reached { named.childOutcomes[1] != nil })
    leaves[0].finish(with: 1)
    leaves[1].finish(with: 1)
    _ = await outcome
    await terminal.finish()
    let drawn = text.current
    let rows = drawn.replacing(/\u{1B}\[[?0-9]*[A-Za-z]/, with: "").split(separator: "\n")
    #expect(rows.count == 6, "\(rows)")
    #expect(rows[0].contains("all ") && rows[0].contains("12 %") && rows[0].contains("0/2"))
    #expect(rows[1].contains("    leaf-0".dropFirst(2)) && !rows[1].contains("%"))
    #expect(rows[2].contains("  inner ") && rows[2].contains("25 %") && rows[2].contains("0/2"))
    #expect(rows[3].contains("    leaf-1 ") && rows[3].contains("50 %"))
    #expect(rows[4].contains("    leaf-2 "))
    #expect(rows[5].hasSuffix("+ all (0:00)"))
    #expect(drawn.contains("\u{1B}[?25h"))
  }

  @Test func track_ofASequenceUnderWay_countsWhatIsDone() async {
    let steps = (0..<3).map { HeldOperation<Int>("step-\($0)") }
    let sequence = CompositeOperation(sequence: LinearSequence(steps: steps.map { step in { _ in step } }))
    await TerminalProgressTests.expectCounts(of: sequence, running: steps)
    let items = (0..<3).map { HeldOperation<Int>("item-\($0)") }
    await TerminalProgressTests.expectCounts(of: forEach(items, maxConcurrent: 1) { $0 }, running: items)
  }

  /// Tracks an operation when the first of its three children has finished.
  private static func expectCounts<O: ComposableOperation>(of operation: O, running children: [HeldOperation<Int>])
    async where O: SettlingOperation
  {
    let (device, text) = TerminalProgressTests.device(canDraw: true)
    let terminal = TerminalProgressTests.still(device, maxLines: 10)
    async let outcome = outcomeOfStarting(operation)
    await children[0].started.wait()
    children[0].finish(with: 1)
    await children[1].started.wait()
    terminal.track(operation)
    terminal.draw()
    children[1].finish(with: 1)
    await children[2].started.wait()
    terminal.draw()
    children[2].finish(with: 1)
    _ = await outcome
    await terminal.finish()
    let counts = text.current.matches(of: /[0-9]\/3/).map { String($0.0) }
    #expect(counts == ["1/3", "2/3"], "\(text.current)")
  }

  @Test func track_whileTheCompletionOfAChildRuns_countsTheChildOnce() async {
    let (device, text) = TerminalProgressTests.device(canDraw: true)
    let terminal = TerminalProgressTests.still(device, maxLines: 10)
    let children = (0..<2).map { HeldOperation<Int>("child-\($0)") }
    let (inside, goOn) = (Gate(), Gate())
    children[0].completion = { _ in
      inside.open()
      goOn.waitBlocking()
    }
    let composite = CompositeOperation(operations: children)
    async let outcome = outcomeOfStarting(composite)
    await children[0].started.wait()
    DispatchQueue.global().async { children[0].finish(with: 1) }
    await inside.wait()
    terminal.track(composite)
    terminal.draw()
    #expect(await Patience.reached { text.current.contains("1/2") }, "\(text.current)")
    goOn.open()
    await finished(children[0])
    await children[1].started.wait()
    terminal.draw()
    children[1].finish(with: 1)
    _ = await outcome
    await terminal.finish()
    #expect(Set(text.current.matches(of: /[0-9]\/2/).map { String($0.0) }) == ["1/2"], "\(text.current)")
  }

  @Test func cursor_withoutBars_isShown() async {
    let (device, text) = TerminalProgressTests.device(canDraw: true)
    let terminal = TerminalProgressTests.still(device, maxLines: 10)
    for name in ["first", "second"] {
      let operation = HeldOperation<Int>(name)
      operation.start()
      terminal.track(operation)
      terminal.draw()
      operation.finish(with: 1)
    }
    await terminal.finish()
    let written = text.current.matches(of: /\?25[hl]|\+ [a-z]+/).map { String($0.0) }
    #expect(written == ["?25l", "?25h", "+ first", "?25l", "?25h", "+ second"], "\(text.current)")
  }

  @Test func bars_moreThanFit_areCounted() async {
    let (device, text) = TerminalProgressTests.device(canDraw: true)
    let terminal = TerminalProgressTests.still(device, maxLines: 2)
    let operations = (0..<5).map { HeldOperation<Int>("operation-\($0)") }
    for operation in operations { terminal.track(operation) }
    terminal.draw()
    await terminal.finish()
    #expect(text.current.contains("operation-1") && !text.current.contains("operation-2"))
    #expect(text.current.contains("and 3 more"))
  }

  @Test func finish_withTrackedOperations_letsThemGo() async {
    let (device, text) = TerminalProgressTests.device(canDraw: true)
    let terminal = TerminalProgress(device, maxLines: 4, clock: ContinuousClock())
    let operation = await TerminalProgressTests.trackAndDrop(terminal)
    await terminal.finish()
    await untilReleased(operation)
    terminal.draw()
    terminal.print("after")
    await terminal.finish()
    #expect(text.current.hasSuffix("after\n"))
  }

  private static func trackAndDrop(_ terminal: TerminalProgress) async -> WeakReference<HeldOperation<Int>> {
    let operation = HeldOperation<Int>("held")
    terminal.track(operation)
    terminal.draw()
    return WeakReference(operation)
  }

  @Test func terminal_tickingOnARealClock_drawsAndEnds() async {
    let drawn = Gate()
    let device = TerminalDevice(canDraw: true, theme: .unicode, size: { (40, 10) }) { text in
      if text.contains("⠙") || text.contains("⠹") { drawn.open() }
    }
    let reference = await TerminalProgressTests.run(device, until: drawn)
    await untilReleased(reference)
  }

  private static func run(_ device: TerminalDevice, until drawn: Gate) async -> WeakReference<TerminalProgress> {
    let terminal = TerminalProgress(device, maxLines: 4, clock: ContinuousClock())
    let operation = HeldOperation<Int>("held")
    operation.start()
    terminal.track(operation)
    await drawn.wait()
    operation.finish(with: 1)
    await terminal.finish()
    return WeakReference(terminal)
  }

  @Test func tracking_fromManyThreads_givesEachItsLine() async {
    let (device, text) = TerminalProgressTests.device(canDraw: false)
    let terminal = TerminalProgressTests.still(device, maxLines: 4)
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<8 {
        group.addTask {
          for index in 0..<50 {
            let operation = succeeding(1, named: "\(number)-\(index)")
            terminal.track(operation)
            operation.start()
          }
        }
      }
    }
    await terminal.finish()
    #expect(text.current.split(separator: "\n").count == 400)
  }

  #if os(macOS) || os(Linux)
  @Test func terminal_withoutLines_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = TerminalProgress(maxLines: 0)
    }
    let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(text.contains("0 lines") && text.contains("at least 1"))
  }

  #if os(Linux)
  /// In a process of its own, in which nothing else needs a thread.
  @Test func bars_whileOperationsKeepAllProcessorsBusy_areDrawn() async {
    await #expect(processExitsWith: .success) {
      let drawn = Gate()
      let device = TerminalDevice(canDraw: true, theme: .ascii, size: { (60, 24) }) { written in
        if written.contains("work") { drawn.open() }
      }
      let terminal = TerminalProgress(device, maxLines: 4, clock: ContinuousClock())
      let work = CompositeOperation(operations: computing(until: drawn))
      terminal.track(work, title: "work")
      work.start()
      _ = await settled(work)
      await terminal.finish()
    }
  }
  #endif
  #endif
}
