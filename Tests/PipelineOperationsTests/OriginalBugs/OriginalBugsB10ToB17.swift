import CompositeOperations
import Foundation
import PipelineOperations
import TestSupport
import Testing

/// What was wrong in BkTask, and is right here. 11 is in `PipelineRaceTests`, 15 in
/// `FileStepTests`.
@Suite("Bugs 10 to 17 of BkTask", .timeLimit(.minutes(30)))
struct OriginalBugsB10ToB17 {
  @Test("BkTask 10 Observers may add and remove observers when they are called, also the last one")
  func b10_observersMayChangeWhileTold() async {
    let log = EventRecorder<String>()
    let operation = Pipeline(Add(1)).operation(for: 1)
    operation.cancelsWhenLastObserverLeaves = true
    let tokens = Locked<[ObservationToken]>([])
    let first = operation.addObserver { [weak operation] event in
      guard event.kind == .settled else { return }
      log.record("first")
      for token in tokens.withLock({ $0 }) { token.remove() }
      operation?.addObserver { if let outcome = $0.outcome { log.record("late \(outcome)") } }
    }
    tokens.withLock { $0.append(first) }
    operation.start()
    await log.wait(for: "late success(2)")
    #expect(log.events == ["first", "late success(2)"] && !operation.isCancelled)
  }

  @Test("BkTask 12 A pipeline, or a step, is never finished and executing at the same time")
  func b12_neverBothExecutingAndFinished() async {
    for _ in 0..<200 {
      let operation = Pipeline(Add(1)).then(Add(1)).operation(for: 1)
      let watch = Task.detached {
        while true {
          // In this order: what is finished no longer executes.
          let isFinished = operation.isFinished
          let isExecuting = operation.isExecuting
          if isFinished { return !isExecuting }
          await Task.yield()
        }
      }
      operation.addObserver { event in
        guard event.kind == .settled else { return }
        if operation.isExecuting || !operation.isFinished { Issue.record("both, for observers") }
      }
      operation.start()
      #expect(await watch.value)
    }
  }

  @Test("BkTask 13 A run without references goes on to its end, and reports it")
  func b13_runningPipelinesAreKept() async {
    let told = EventRecorder<String>()
    let held = HeldStep()
    do {
      let operation = Pipeline(held).then(Add(1)).operation(for: 1)
      operation.addObserver { if let outcome = $0.outcome { told.record("\(outcome)") } }
      operation.start()
    }
    await held.started().finish(with: 1)
    await told.wait(for: "success(2)")
  }

  @Test("BkTask 14 The result is that of the last step, and steps that do not fit together do not compile")
  func b14_theLastStepDecides() async throws {
    let pipeline: Pipeline<Data, Data> = Pipeline(ParseJSON()).then { json in Data("\(json?["a"]?.int ?? 0)".utf8) }
    #expect(try await pipeline.run(Data(#"{"a": 7}"#.utf8)) == Data("7".utf8))
  }

  @Test("BkTask 16 Steps and observers of the main queue run on the main thread")
  func b16_mainThreadIsTheMainThread() async {
    let threads = EventRecorder<Bool>()
    let operation = Pipeline(Add(1)).operation(for: 1)
    operation.addMainActorObserver { event in
      MainActor.preconditionIsolated()
      if event.kind == .settled { threads.record(true) }
    }
    operation.start()
    await threads.wait(forCount: 1)
    #expect(threads.events == [true])
  }

  @Test("BkTask 17 A late observer hears at once how the run ended, and so does a stream")
  func b17_lateObserversAreTold() async throws {
    let failed = Pipeline(of: Int.self).then { _ in failing(TestError.first) }.operation(for: 1)
    let cancelled = Pipeline(Add(1)).operation(for: 1)
    cancelled.cancel()
    let succeeded = Pipeline(Add(1)).operation(for: 1)
    for operation in [failed, cancelled, succeeded] {
      operation.start()
      _ = await settled(operation)
      await finished(operation)
    }
    let told = EventRecorder<String>()
    for operation in [failed, cancelled, succeeded] {
      operation.addObserver { event in
        guard let outcome = event.outcome else { return }
        told.record(outcome.isCancelled ? "cancelled" : outcome.error == nil ? "success" : "failure")
      }
    }
    #expect(told.events == ["failure", "cancelled", "success"])
    var streamed: [String] = []
    for await event in succeeded.events() { streamed.append("\(event)") }
    #expect(streamed == ["settled: success(2)"])
  }

  @Test("BkTask 17 Observers may come from any thread, at any moment, and each hears of the end once")
  func b17_observersMayComeAtAnyMoment() async {
    for _ in 0..<50 {
      let told = Locked(0)
      let operation = Pipeline(Add(1)).then(Add(1)).operation(for: 1)
      await withTaskGroup(of: Void.self) { group in
        group.addTask { await onWorker { operation.start() } }
        for _ in 0..<10 {
          group.addTask { operation.addObserver { if $0.kind == .settled { told.increment() } } }
        }
      }
      await finished(operation)
      let all = EventRecorder<Int>()
      operation.addObserver { if $0.kind == .settled { all.record(1) } }
      await all.wait(for: 1)
      await until(told.current >= 10)
      #expect(told.current == 10)
    }
  }
}
