import CompositeOperations
import Foundation
import OperationTelemetry
import TestSupport
import Testing

@Suite("What operations report", .timeLimit(.minutes(10)))
struct OperationReportTests {
  @Test("Each operation in a tree is reported from its start to its end, the root last, with the numbers of parents")
  func tree_succeeds_isReportedInOrder() async throws {
    let sink = RecordingSink()
    let tree = CompositeOperation(
      sequence: LinearSequence(
        { _ in succeeding(1, named: "one") }, { _ in succeeding(2, named: "two") }))
    tree.name = "both"
    tree.report(to: sink)
    try await tree.run()
    #expect(
      sink.lines.events == [
        "debug started both", "debug started one", "debug succeeded one (timed)", "debug started two",
        "debug succeeded two (timed)", "info succeeded both (timed)",
      ])
    let events = sink.events
    let root = try #require(events.first?.id)
    #expect(events.map(\.parentID) == [nil, root, root, root, root, nil])
    #expect(events[1].id == events[2].id && events[3].id == events[4].id && events[1].id != events[3].id)
    #expect(events.first?.subject == "sequence")
    #expect(events[1].subject == "SimpleOperation<Int>")
    #expect(TelemetryEvent.executionsAreSound(events))
  }

  @Test("A sink does not keep an operation from being cancelled when its last observer leaves")
  func sink_doesNotCountAsAnObserver() {
    let load = HeldOperation<Int>()
    load.cancelsWhenLastObserverLeaves = true
    let token = load.report(to: RecordingSink())
    let view = load.addObserver { _ in }
    load.start()
    view.remove()
    #expect(load.isCancelled)
    token.remove()
    load.finish(with: 1)
  }

  @Test("A failure is an error of the root, and a warning inside")
  func tree_fails_levelsSayWhoDecides() async {
    let sink = RecordingSink()
    let tree = CompositeOperation(operations: [failing(TestError.first, named: "inner")])
    tree.name = "outer"
    tree.report(to: sink)
    _ = await outcomeOfStarting(tree)
    #expect(
      sink.lines.events == [
        "debug started outer", "debug started inner", "warning failed inner (timed): TestError",
        "error failed outer (timed): CompositeError",
      ])
  }

  @Test("The attempts of a retry are numbered")
  func retry_reportsAttempts() async throws {
    let sink = RecordingSink()
    let operation = retrying(RetryPolicy(maxAttempts: 3)) { attempt in
      attempt.number < 2 ? failing(TestError.first, named: "try") : succeeding(7, named: "try")
    }
    operation.report(to: sink)
    _ = try await operation.run()
    let tries = sink.events.filter { $0.name == "try" && $0.subject != "retry" }
    #expect(tries.map(\.attempt) == [1, 1, 2, 2])
    #expect(tries.map(\.kind) == [.started, .failed, .started, .succeeded])
    #expect(sink.events.last?.subject == "retry")
    #expect(TelemetryEvent.executionsAreSound(sink.events))
  }

  @Test("A sink that comes during a retry is told no numbers of attempts, since it does not know how many there were")
  func retry_reportedFromTheSecondAttempt_leavesNumbersOut() async throws {
    let sink = RecordingSink()
    let attempts = (0..<3).map { _ in HeldOperation<Int>("try") }
    let operation = retrying(RetryPolicy(maxAttempts: 3, backoff: .noDelay)) { attempts[$0.number - 1] }
    operation.start()
    await attempts[0].started.wait()
    attempts[0].reject(with: TestError.first)
    await attempts[1].started.wait()
    operation.report(to: sink)
    attempts[1].reject(with: TestError.first)
    await attempts[2].started.wait()
    attempts[2].finish(with: 1)
    _ = await settled(operation)
    let tries = sink.events.filter { $0.name == "try" && $0.subject != "retry" }
    #expect(tries.map(\.kind) == [.failed, .started, .succeeded])
    #expect(tries.map(\.attempt) == [nil, nil, nil])
  }

  @Test("One that is cancelled before it starts has an end and no duration")
  func cancel_beforeStart_hasNoDuration() async {
    let sink = RecordingSink()
    let operation = succeeding(1, named: "never")
    operation.report(to: sink)
    operation.cancel()
    operation.start()
    _ = await settled(operation)
    #expect(sink.lines.events == ["info cancelled never"])
  }

  @Test("What winds down after the end of the operation is not reported")
  func timeout_settlesBeforeItsWork_nothingIsReportedAfterwards() async {
    let sink = RecordingSink()
    let clock = ManualClock()
    let held = HeldOperation<Int>()
    let operation = held.timeout(.seconds(1), .settlesAtOnce, clock: clock)
    operation.report(to: sink)
    operation.start()
    await clock.waitForSleeper()
    clock.advance(by: .seconds(1))
    _ = await settled(operation)
    let count = sink.lines.count
    held.finish(with: 1)
    _ = await settled(held)
    #expect(sink.lines.count == count)
    #expect(sink.events.last?.kind == .failed)
  }

  @Test("What still executes when the operation ends is abandoned before, and no longer counts as executing")
  func timeout_settlesBeforeItsWork_theWorkIsAbandoned() async throws {
    let (sink, counts) = (RecordingSink(), PrometheusSink())
    let clock = ManualClock()
    let held = HeldOperation<Int>("work")
    let operation = held.timeout(.seconds(1), .settlesAtOnce, clock: clock)
    operation.name = "limit"
    operation.report(to: sink)
    operation.report(to: counts)
    operation.start()
    await held.started.wait()
    await clock.waitForSleeper()
    clock.advance(by: .seconds(1))
    _ = await settled(operation)
    #expect(
      sink.lines.events == [
        "debug started limit", "debug started work", "debug abandoned work (timed)",
        "error failed limit (timed): OperationTimeout",
      ])
    let text = try PrometheusText(counts.text())
    let executing = text.samples.filter { $0.name == "composite_operations_executing" }
    #expect(executing.count == 2 && executing.allSatisfy { $0.value == 0 })
    held.finish(with: 1)
  }

  @Test("Two sinks get the same; one that was removed gets no more, and is released")
  func twoSinks_oneIsRemoved() async throws {
    let (first, second) = (RecordingSink(), RecordingSink())
    let gate = Gate()
    let operation = SimpleOperation<Int> { operation in
      Task {
        await gate.wait()
        operation.finish(with: 1)
      }
    }
    operation.name = "work"
    operation.report(to: first)
    let token = operation.report(to: second)
    operation.start()
    #expect(first.lines.events == ["debug started work"])
    #expect(second.lines.events == ["debug started work"])
    token.remove()
    gate.open()
    _ = await settled(operation)
    #expect(first.lines.events == ["debug started work", "info succeeded work (timed)"])
    #expect(second.lines.events == ["debug started work"])
  }

  @Test("A sink that is given to an operation that has settled is told of the end")
  func report_afterTheEnd_reportsTheEnd() async throws {
    let operation = succeeding(1, named: "done")
    _ = try await operation.run()
    let sink = RecordingSink()
    operation.report(to: sink)
    #expect(sink.lines.events == ["info succeeded done"])
  }

  @Test("One operation that several compositions wait for has one execution, and is over before they are")
  func sharedOperation_hasOneExecution() async throws {
    let sink = RecordingSink()
    let shared = HeldOperation<Int>("shared")
    let sum = zip(shared.map { $0 + 1 }, shared.map { $0 + 2 })
    sum.report(to: sink)
    sum.start()
    await shared.started.wait()
    shared.finish(with: 1)
    _ = await settled(sum)
    #expect(TelemetryEvent.executionsAreSound(sink.events))
    #expect(sink.events.contains { $0.name == "shared" && $0.kind == .succeeded && $0.duration != nil })
    #expect(sink.events.last?.subject == "zip")
  }

  @Test("What is no longer awaited is abandoned at once, not kept, and reported again if it is awaited again")
  func joinedOperation_leftTwice_isAbandonedEachTime() async throws {
    let (sink, counts) = (RecordingSink(), PrometheusSink())
    var work: HeldOperation? = HeldOperation<Int>("work")
    let reference = WeakReference(work!)
    let waits = [work!.map { $0 }, work!.map { $0 }]
    let last = HeldOperation<String>("last")
    let tree = CompositeOperation(
      sequence: LinearSequence({ _ in waits[0].settled() }, { _ in waits[1].settled() }, { _ in last }))
    tree.report(to: sink)
    tree.report(to: counts)
    let seen = EventRecorder<String>()
    tree.addTreeObserver { operation, event in if operation is HeldOperation<Int> { seen.record("\(event)") } }
    work!.start()
    await onWorker { tree.start() }
    for (number, wait) in waits.enumerated() {
      await seen.wait(forCount: number + 1)
      wait.cancel()
    }
    await sink.lines.wait(for: "debug started last")
    #expect(seen.events == ["started", "started"])
    let events = sink.events.filter { $0.subject == "HeldOperation<Int>" }
    try #require(events.map(\.kind) == [.started, .abandoned, .started, .abandoned])
    #expect(events.map { $0.duration != nil } == [false, true, false, true])
    #expect(events[0].id == events[1].id && events[2].id == events[3].id && events[0].id != events[2].id)
    let executing = try PrometheusText(counts.text()).samples.first {
      $0.name == "composite_operations_executing" && $0.labels["subject"] == "HeldOperation<Int>"
    }
    #expect(executing?.value == 0)
    work!.finish(with: 1)
    work = nil
    await untilReleased(reference)
    last.finish(with: "")
    _ = await settled(tree)
    #expect(sink.events.count { $0.kind == .abandoned } == 2)
  }

  @Test("Of two compositions that wait for one operation the second one still reports its end")
  func joinedOperation_leftByOneOfTwo_isNotAbandoned() async throws {
    let sink = RecordingSink()
    let work = HeldOperation<Int>("work")
    let waits = [work.map { $0 }, work.map { $0 }]
    let tree = CompositeOperation(operations: waits.map { $0.settled() })
    tree.report(to: sink)
    let seen = EventRecorder<String>()
    tree.addTreeObserver { operation, event in if operation === work { seen.record("\(event)") } }
    work.start()
    await onWorker { tree.start() }
    await seen.wait(forCount: 2)
    waits[0].cancel()
    _ = await settled(waits[0])
    work.finish(with: 1)
    _ = await settled(tree)
    #expect(sink.events.filter { $0.subject == "HeldOperation<Int>" }.map(\.kind) == [.started, .succeeded])
    #expect(TelemetryEvent.executionsAreSound(sink.events))
  }

  @Test("Compositions that are no longer awaited are not kept; what runs in them is still reported, as theirs")
  func joinedCompositions_areLeft_theirChildrenAreStillReported() async throws {
    let sink = RecordingSink()
    let (seconds, last) = ((0..<20).map { HeldOperation<Int>("second \($0)") }, HeldOperation<Int>("last"))
    let firsts = (0..<20).map { HeldOperation<Int>("first \($0)") }
    var works = (0..<20).map { number in
      let work = CompositeOperation(sequence: LinearSequence({ _ in firsts[number] }, { _ in seconds[number] }))
      work.name = "work \(number)"
      return work
    }
    let references = works.map(WeakReference.init)
    let waits = works.map { work in work.map { _ in 1 } }
    let tree = CompositeOperation(
      sequence: LinearSequence(
        steps: waits.map { wait in { @Sendable _ in wait.settled() } } + [{ @Sendable _ in last }]))
    tree.report(to: sink)
    let seen = EventRecorder<String?>()
    tree.addTreeObserver { operation, event in
      if event.kind == .started, operation is CompositeOperation { seen.record(operation.name) }
    }
    for work in works { await onWorker { work.start() } }
    await onWorker { tree.start() }
    for (number, wait) in waits.enumerated() {
      await seen.wait(for: "work \(number)")
      await firsts[number].started.wait()
      wait.cancel()
    }
    await sink.lines.wait(for: "debug started last")
    for number in works.indices {
      let work = sink.events.filter { $0.name == "work \(number)" && $0.subject == "sequence" }
      try #require(work.map(\.kind) == [.started, .abandoned])
      firsts[number].finish(with: 1)
      await sink.lines.wait(for: "debug started second \(number)")
      let second = sink.events.first { $0.name == "second \(number)" }
      #expect(second?.parentID == work[0].id)
      seconds[number].finish(with: 2)
      _ = await settled(works[number])
    }
    works = []
    for reference in references { await untilReleased(reference) }
    last.finish(with: 1)
    _ = await settled(tree)
    #expect(sink.events.count { $0.kind == .abandoned } == 20 && TelemetryEvent.executionsAreSound(sink.events))
  }

  @Test("A slow sink holds the operation up, and loses nothing")
  func slowSink_holdsUpTheOperation() async throws {
    struct SlowSink: TelemetrySink {
      let gate: Gate
      let entered: Gate
      let record: RecordingSink
      func receive(_ event: TelemetryEvent) {
        entered.open()
        gate.waitBlocking()
        record.receive(event)
      }
    }
    let sink = SlowSink(gate: Gate(), entered: Gate(), record: RecordingSink())
    let operation = succeeding(1, named: "work")
    operation.report(to: sink)
    let run = Task.detached { _ = try await operation.run() }
    await sink.entered.wait()
    #expect(!operation.isFinished)
    sink.gate.open()
    try await run.value
    #expect(sink.record.lines.events == ["debug started work", "info succeeded work (timed)"])
  }

  @Test("Neither the sink nor the operation is kept when it has settled")
  func end_releasesTheSink() async throws {
    final class Sink: TelemetrySink {
      func receive(_ event: TelemetryEvent) {}
    }
    weak var weakSink: Sink?
    let operation = CompositeOperation(operations: [succeeding(1)])
    do {
      let sink = Sink()
      weakSink = sink
      operation.report(to: sink)
    }
    #expect(weakSink != nil)
    _ = try await operation.run()
    #expect(weakSink == nil)
  }
}
