import CompositeOperations
import Foundation
import OperationTimelines
import TestSupport
import Testing

@Suite("Recording", .hangLimit)
struct TimelineRecorderTests {
  private func titles(_ timeline: Timeline) -> [String] {
    timeline.entries.map { entry in
      let parent = entry.parent.map { number in timeline.entries.first { $0.id == number }!.title + "/" } ?? ""
      return parent + entry.title
    }
  }

  @Test func parallel_onStepClock_hasItsInstants() async {
    let clock = StepClock()
    let recorder = TimelineRecorder(clock: clock)
    let (first, second) = (HeldOperation<Int>("first"), HeldOperation<Int>("second"))
    let composite = CompositeOperation(operations: [first, second])
    composite.name = "both"
    composite.maxConcurrentOperationCount = 1
    clock.advance(by: .seconds(1))
    recorder.attach(to: composite)
    clock.advance(by: .seconds(1))
    await onWorker { composite.start() }
    await first.started.wait()
    clock.advance(by: .seconds(1))
    await onWorker { _ = first.finish(with: 1) }
    await second.started.wait()
    clock.advance(by: .seconds(2))
    await onWorker { _ = second.reject(with: TestError.first) }
    await finished(composite)
    await untilAllEnded(recorder)
    let entries = recorder.timeline.entries
    #expect(titles(recorder.timeline) == ["both", "both/first", "both/second"])
    #expect(entries.map(\.queued) == [.seconds(1), .seconds(2), .seconds(2)])
    #expect(entries.map(\.started) == [.seconds(2), .seconds(2), .seconds(3)])
    #expect(entries.map(\.settled) == [.seconds(5), .seconds(3), .seconds(5)])
    #expect(
      entries.map(\.ending) == [
        .failure(message: "1 operation failed"), .success, .failure(message: "test error first"),
      ])
    #expect(entries.map(\.kind) == [.parallel, .operation, .operation])
    #expect(entries.map(\.tag) == [1, 0, 1])
    #expect(entries[1].type == "HeldOperation<Int>")
    #expect(entries.allSatisfy { $0.thread != nil })
  }

  @Test func sequenceWithRetries_hasAttempts() async {
    let recorder = TimelineRecorder()
    let operation = CompositeOperation(
      sequence: RetrySequence(maxAttempts: 3) { attempt in
        attempt < 3 ? failing(TestError.first, named: "try") : succeeding(1, named: "try")
      })
    recorder.attach(to: operation)
    _ = try? await operation.run()
    await untilAllEnded(recorder)
    let timeline = recorder.timeline
    #expect(timeline.entries.map(\.attempt) == [1, 1, 2, 3])
    #expect(timeline.entries.map(\.kind) == [.sequence, .operation, .operation, .operation])
    #expect(timeline.criticalPath == timeline.entries.map(\.id))
  }

  @Test func typedCompositions_haveTheirNames() async throws {
    let recorder = TimelineRecorder()
    let chain = succeeding(1, named: "one").then { value in
      zip(succeeding(value, named: "a"), succeeding(value, named: "b")).map { $0 + $1 }
    }
    let all = forEach([1, 2], maxConcurrent: 1) { succeeding($0, named: "item") }
    let operation = CompositeOperation { [chain, all, BlockOperation {}] }
    recorder.attach(to: operation)
    try await operation.run()
    await untilAllEnded(recorder)
    #expect(
      titles(recorder.timeline).sorted() == [
        "forEach/item", "forEach/item", "map/zip", "parallel", "parallel/BlockOperation", "parallel/forEach",
        "parallel/then", "then/map", "then/one", "zip/a", "zip/b",
      ])
    #expect(recorder.timeline.entries.allSatisfy { $0.ending == .success })
    #expect(recorder.timeline.entries.first { $0.type == "BlockOperation" }?.kind == .plain)
  }

  @Test func cancelledBeforeItStarted_neverStarted() async {
    let recorder = TimelineRecorder()
    let composite = CompositeOperation(operations: [succeeding(1, named: "child")])
    recorder.attach(to: composite)
    composite.cancel()
    await onWorker { composite.start() }
    await finished(composite)
    await untilAllEnded(recorder)
    let entries = recorder.timeline.entries
    #expect(titles(recorder.timeline) == ["parallel", "parallel/child"])
    #expect(entries.map(\.started) == [nil, nil])
    #expect(entries.map(\.ending) == [.cancelled, .cancelled])
  }

  @Test func timeline_whileRunning_showsWhatIsKnown() async {
    let recorder = TimelineRecorder()
    let held = HeldOperation<Int>("held")
    let waiting = succeeding(1, named: "waiting")
    let composite = CompositeOperation(operations: [CompositeOperation(operations: [held]), waiting])
    composite.maxConcurrentOperationCount = 1
    recorder.attach(to: composite)
    #expect(recorder.timeline.entries.map(\.ending) == [nil])
    #expect(recorder.timeline.entries[0].started == nil && recorder.timeline.entries[0].kind == .parallel)
    await onWorker { composite.start() }
    await held.started.wait()
    let timeline = recorder.timeline
    #expect(titles(timeline).sorted() == ["parallel", "parallel/held", "parallel/parallel", "parallel/waiting"])
    #expect(timeline.entries.allSatisfy { $0.settled == nil && $0.ending == nil })
    #expect(timeline.entries.filter { $0.started == nil }.map(\.name) == ["waiting"])
    #expect(timeline.entries.allSatisfy { $0.queued <= timeline.end })
    held.finish(with: 1)
    await finished(composite)
    await untilAllEnded(recorder)
    #expect(recorder.timeline.entries.allSatisfy { $0.ending == .success })
  }

  @Test func attach_whileRunning_recordsWhatIsToCome() async {
    let (first, second) = (HeldOperation<Int>("first"), HeldOperation<Int>("second"))
    let over = succeeding(0, named: "over")
    let inner = CompositeOperation(sequence: LinearSequence({ _ in over }, { _ in first }, { _ in second }))
    inner.name = "inner"
    let composite = CompositeOperation(operations: [inner])
    await onWorker { composite.start() }
    await first.started.wait()
    let recorder = TimelineRecorder()
    recorder.attach(to: composite)
    #expect(titles(recorder.timeline) == ["parallel", "parallel/inner", "inner/first"])
    #expect(recorder.timeline.entries.allSatisfy { $0.started != nil && $0.settled == nil })
    first.finish(with: 1)
    await second.started.wait()
    second.finish(with: 2)
    await finished(composite)
    await untilAllEnded(recorder)
    #expect(titles(recorder.timeline) == ["parallel", "parallel/inner", "inner/first", "inner/second"])
    #expect(recorder.timeline.entries.allSatisfy { $0.ending == .success })
  }

  @Test func attach_toLeaves_recordsThem() async {
    let recorder = TimelineRecorder()
    let clockless = succeeding(1, named: "own")
    let block = BlockOperation {}
    block.name = "block"
    let settled = succeeding(2, named: "settled")
    await onWorker { settled.start() }
    for operation in [clockless, block, settled] as [Operation] { recorder.attach(to: operation) }
    await onWorker {
      clockless.start()
      block.start()
    }
    // Of a plain operation the recorder is told later than others.
    _ = await Patience.reached { recorder.timeline.entries.allSatisfy { $0.ending == .success } }
    let entries = recorder.timeline.entries
    #expect(entries.map(\.name) == ["own", "block", "settled"])
    #expect(entries.map(\.kind) == [.operation, .plain, .operation])
    #expect(entries[0].started! > entries[0].queued && entries[0].thread != nil)
    #expect(entries[2].started == nil)
  }

  @Test func attach_toPartAndThenToWhole_recordsOnce() async throws {
    let recorder = TimelineRecorder()
    let part = CompositeOperation(operations: [succeeding(1, named: "leaf")])
    part.name = "part"
    let whole = CompositeOperation(operations: [part])
    whole.name = "whole"
    recorder.attach(to: part)
    recorder.attach(to: part)
    recorder.attach(to: whole)
    try await whole.run()
    await untilAllEnded(recorder)
    #expect(titles(recorder.timeline) == ["whole", "whole/part", "part/leaf"])
    #expect(recorder.timeline.entries.allSatisfy { $0.ending == .success })
  }

  @Test func twoRecorders_recordTheSame() async throws {
    let recorders = [TimelineRecorder(), TimelineRecorder()]
    let operation = CompositeOperation(operations: (0..<100).map { succeeding($0, named: "\($0)") })
    for recorder in recorders { recorder.attach(to: operation) }
    try await operation.run()
    for recorder in recorders { #expect(Set(recorder.timeline.entries.map(\.title)).count == 101) }
  }

  @Test func manyChildren_areAllRecorded() async throws {
    let recorder = TimelineRecorder()
    let operation = CompositeOperation(
      operations: (0..<20).map { outer in
        CompositeOperation(operations: (0..<1000).map { succeeding($0, named: outer == 0 ? "\($0)" : nil) })
      })
    recorder.attach(to: operation)
    try await operation.run()
    await untilAllEnded(recorder)
    let timeline = recorder.timeline
    #expect(timeline.entries.count == 20_021)
    #expect(Set(timeline.entries.compactMap(\.name)) == Set((0..<1000).map { "\($0)" }))
    #expect(timeline.entries.allSatisfy { $0.started != nil && $0.ending == .success })
    #expect(Set(timeline.entries.map(\.id)) == Set(1...20_021))
    #expect(timeline.entries.allSatisfy { $0.parent ?? 0 < $0.id })
  }

  @Test func timeline_readWhileMuchRuns_isAlwaysSound() async throws {
    let recorder = TimelineRecorder()
    let operation = CompositeOperation(
      operations: (0..<40).map { _ in
        CompositeOperation(
          sequence: RetrySequence(maxAttempts: 30) { attempt in
            attempt < 30 ? failing(TestError.first) : succeeding(attempt, named: "last")
          })
      })
    recorder.attach(to: operation)
    async let outcome = operation.run()
    var counts: [Int] = []
    repeat {
      let timeline = recorder.timeline
      counts.append(timeline.entries.count)
      let complaints = TimelineSoundness.complaints(about: timeline)
      #expect(complaints.isEmpty, "\(complaints.prefix(5))")
      await Task.yield()
    } while !operation.isFinished
    _ = try await outcome
    #expect(counts == counts.sorted())
    #expect(recorder.timeline.entries.count == 1241)
  }

  /// Waits until the recorder was told of all ends: it hears of one after those that wait for it.
  private func untilAllEnded(_ recorder: TimelineRecorder) async {
    await until(recorder.timeline.entries.allSatisfy { $0.settled != nil })
  }

  // MARK: - Release

  @Test("A cancelled composition leaves an operation that another one runs, which is over for its timeline")
  func joinedOperation_thatIsLeft_isRecordedAsSettled() async {
    let recorder = TimelineRecorder()
    let elsewhere = HeldOperation<Int>()
    await onWorker { elsewhere.start() }
    let joining = elsewhere.map { $0 }
    recorder.attach(to: joining)
    let added = Gate()
    joining.addObserver { if $0.kind == .childAdded { added.open() } }
    await onWorker { joining.start() }
    await added.wait()
    joining.cancel()
    #expect(await settled(joining).isCancelled)
    #expect(await Patience.reached { recorder.timeline.entries.allSatisfy { $0.settled != nil } })
    #expect(recorder.timeline.entries.count == 2)
    elsewhere.finish(with: 1)
  }

  @Test func operations_thatSettled_areReleased() async throws {
    let recorder = TimelineRecorder()
    let references = try await runAndForget(recorder)
    for reference in references { await untilReleased(reference) }
    #expect(references.allSatisfy { $0.object == nil })
    #expect(recorder.timeline.entries.count == 4)
    #expect(recorder.timeline.entries.map(\.name).contains("leaf"))
  }

  private func runAndForget(_ recorder: TimelineRecorder) async throws -> [WeakReference<Operation>] {
    let leaf = succeeding(1, named: "leaf")
    let inner = CompositeOperation(operations: [leaf])
    let chain = inner.map { $0.count }
    let root = CompositeOperation(operations: [chain])
    recorder.attach(to: root)
    try await root.run()
    return ([leaf, inner, chain, root] as [Operation]).map { WeakReference($0) }
  }

  @Test func recorder_afterUse_isReleased() async throws {
    let operation = CompositeOperation(operations: [succeeding(1)])
    let reference = try await record(operation)
    await untilReleased(reference)
    #expect(reference.object == nil)
    #expect(operation.isFinished)
  }

  private func record(_ operation: CompositeOperation) async throws -> WeakReference<TimelineRecorder> {
    let recorder = TimelineRecorder()
    recorder.attach(to: operation)
    try await operation.run()
    return WeakReference(recorder)
  }
}
