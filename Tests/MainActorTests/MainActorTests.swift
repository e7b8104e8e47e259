import CompositeOperations
import Dispatch
import Foundation
import TestSupport
import Testing

/// Completions and observers that use main-actor state, in a target in which everything belongs to
/// the main actor.
@Suite("3.1.9 The main actor", .timeLimit(.minutes(30)))
struct MainActorTests {
  @Test("3.1.9 A completion and an observer may touch a model's state, and come in order")
  func completionAndObserver_touchModel() async {
    let model = ForecastModel()
    let fetch = Fetch()
    // Suspended until both completions are there: one that is added after the end has no order.
    let queue = OperationQueue()
    queue.isSuspended = true
    let done = Gate()
    model.load(fetch, in: queue)
    #expect(model.isLoading)
    fetch.addMainActorCompletion { _ in done.open() }
    queue.isSuspended = false
    await done.wait()
    #expect(!model.isLoading)
    #expect(model.text == "sunny")
    #expect(model.steps == ["started", "settled: success(sunny)"])
  }

  #if os(macOS) || os(Linux)
  @Test("The handler of a signal, as in Durable work, runs where Dispatch calls it")
  func handlerOfASignal_endsTheProgram() async {
    await #expect(processExitsWith: .exitCode(0)) {
      await MainActor.run { SignalSample.install() }
      await Gate().wait()
    }
  }
  #endif

  @Test("3.1.9 The completion is called when isFinished is true, on the main actor, exactly once, on every path")
  func completion_onEveryPath_isCalledOnce() async {
    let paths: [(name: String, make: () -> SimpleOperation<Int>, run: (SimpleOperation<Int>) -> Void)] = [
      ("returned", { SimpleOperation { 1 } }, { $0.start() }),
      ("failed", { SimpleOperation { throw TestError.first } }, { $0.start() }),
      ("elsewhere", { AsyncOperation { 1 } }, { $0.start() }),
      ("in a queue", { SimpleOperation { 1 } }, { OperationQueue().addOperation($0) }),
      ("in the main queue", { SimpleOperation { 1 } }, { OperationQueue.main.addOperation($0) }),
      ("never started", { SimpleOperation { 1 } }, { $0.finish(with: 2) }),
      (
        "cancelled before the start", { SimpleOperation { 1 } },
        {
          $0.cancel()
          $0.start()
        }
      ),
      (
        "cancelled", { SimpleOperation { _ in } },
        {
          $0.start()
          $0.cancel()
          $0.settle(with: .cancelled)
        }
      ),
      ("chained", { SimpleOperation { 1 }.map { $0 + 1 } }, { $0.start() }),
    ]
    for path in paths {
      let operation = path.make()
      var calls = 0
      let called = Gate()
      operation.addMainActorCompletion { outcome in
        MainActor.assertIsolated()
        calls += 1
        #expect(operation.isFinished, "\(path.name)")
        #expect("\(outcome)" == operation.outcome.map { "\($0)" }, "\(path.name)")
        called.open()
      }
      path.run(operation)
      // Never inside the call that settles it.
      #expect(calls == 0, "\(path.name)")
      await called.wait()
      await turnOfTheMainActor()
      #expect(calls == 1, "\(path.name)")
    }
  }

  @Test("3.1.9 Added to an operation that has settled, it is called later")
  func completion_ofSettledOperation_isCalledLater() async {
    let operation = SimpleOperation { 1 }
    operation.start()
    var value: Int?
    let called = Gate()
    operation.addMainActorCompletion { outcome in
      value = outcome.value
      called.open()
    }
    #expect(value == nil)
    await called.wait()
    #expect(value == 1)
  }

  @Test("3.1.9 Several completions are called in order, after the plain completion")
  func completions_areCalledInOrder() async {
    let operation = SimpleOperation { 1 }
    let events = EventRecorder<String>()
    operation.addMainActorCompletion { _ in events.record("first") }
    operation.addMainActorCompletion { _ in events.record("second") }
    operation.completion = { _ in events.record("completion") }
    operation.addMainActorCompletion { _ in events.record("third") }
    operation.start()
    await events.wait(forCount: 4)
    #expect(events.events == ["completion", "first", "second", "third"])
  }

  @Test("3.1.9 The completion is released on the main queue when it has been called")
  func completion_afterTheCall_isReleased() async {
    for _ in 0..<50 {
      let released = Gate()
      let onMain = Locked(false)
      let operation = AsyncOperation { 1 }
      addCompletion(to: operation, capturing: MainQueueProbe(released, onMain))
      operation.start()
      await released.wait()
      #expect(onMain.current)
      #expect(operation.isFinished)
    }
  }

  @Test("3.1.9 A composite has it too, with its values")
  func completion_ofComposite() async throws {
    let composite = Import(["a", "bb"])
    var values: [Int] = []
    let called = Gate()
    composite.addMainActorCompletion { outcome in
      values = outcome.value as? [Int] ?? []
      called.open()
    }
    OperationQueue().addOperation(composite)
    await called.wait()
    #expect(values == [1, 2])
  }

  @Test("3.1.9 An observer gets all events in order, and later than they happen")
  func observer_isToldInOrder() async {
    let operation = HeldOperation<Int>()
    var events: [String] = []
    let ended = Gate()
    operation.addMainActorObserver { event in
      MainActor.assertIsolated()
      events.append("\(event)")
      if event.kind == .settled { ended.open() }
    }
    operation.start()
    operation.cancel()
    operation.finish(with: 1)
    #expect(events == [])
    await ended.wait()
    #expect(events == ["started", "cancelled", "settled: cancelled"])
  }

  @Test("3.1.9 Removed on the main actor, an observer is not called again")
  func observer_removed_isNotCalled() async {
    let operation = SimpleOperation { 1 }
    var calls = 0
    let token = operation.addMainActorObserver { _ in calls += 1 }
    operation.start()
    token.remove()
    await turnOfTheMainActor()
    #expect(calls == 0)
  }

  @Test("A tree observer gets the events of all operations in order, and later than they happen")
  func treeObserver_isToldInOrder() async {
    let leaf = HeldOperation<Int>("leaf")
    let composite = CompositeOperation(operations: [leaf])
    composite.name = "composite"
    var events: [String] = []
    let ended = Gate()
    composite.addMainActorTreeObserver { operation, event in
      MainActor.assertIsolated()
      events.append("\(operation.name ?? "none"): \(event.kind)")
      if operation === composite, event.kind == .settled { ended.open() }
    }
    composite.start()
    #expect(events == [])
    await leaf.started.wait()
    leaf.finish(with: 1)
    await ended.wait()
    #expect(
      events == [
        "composite: started", "composite: childAdded", "leaf: started", "leaf: settled", "composite: settled",
      ])
  }

  @Test("Removed on the main actor, a tree observer is not called again")
  func treeObserver_removed_isNotCalled() async {
    let operation = SimpleOperation { 1 }
    var calls = 0
    let token = operation.addMainActorTreeObserver { _, _ in calls += 1 }
    operation.start()
    token.remove()
    await turnOfTheMainActor()
    #expect(calls == 0)
  }

  @Test("Added to an operation that has settled, a tree observer is told of that later")
  func treeObserver_ofSettledOperation_isToldOfTheEndLater() async {
    let operation = SimpleOperation { 1 }
    operation.start()
    var events: [String] = []
    let called = Gate()
    operation.addMainActorTreeObserver { told, event in
      events.append("\(told === operation) \(event)")
      called.open()
    }
    #expect(events == [])
    await called.wait()
    #expect(events == ["true settled: success(1)"])
  }

  @Test("3.1.9 run() and events() from the main actor come back to it")
  func run_fromMainActor_returnsToIt() async {
    let model = ForecastModel()
    await model.loadAndWait(Fetch())
    #expect(model.text == "sunny")
    await model.loadAndWait(SimpleOperation { throw TestError.first })
    #expect(model.text == "no forecast")
    let count = CountLetters(in: "four")
    async let followed: Void = model.follow(count)
    #expect((try? await count.run()) == 4)
    await followed
    #expect(model.steps.last == "settled: success(4)")
  }

  @Test("3.1.9 A delegate of a sequence on OperationQueue.main may assume that it is on the main actor")
  func delegate_onMainQueue_touchesModel() async throws {
    let model = ForecastModel()
    let sequence = CompositeOperation(sequence: ModelSteps(model: model), operationQueue: .main)
    let values = try await sequence.run()
    #expect(values as? [Int] == [6, 6])
    #expect(model.steps == ["asked first", "counted 6", "counted 6"])
  }

  @Test("3.1.9 Operations in OperationQueue.main may assume it, too")
  func body_onMainQueue_touchesModel() async throws {
    let model = ForecastModel()
    let operation = SimpleOperation<Int> {
      MainActor.assumeIsolated {
        model.note("ran")
        return model.steps.count
      }
    }
    #expect(try await OperationQueue.main.run(operation) == 1)
  }

  /// Lets the main actor run its earlier work.
  private func turnOfTheMainActor() async {
    await withCheckedContinuation { continuation in
      Task.detached(priority: .userInitiated) { @MainActor in continuation.resume() }
    }
  }

  private func addCompletion(to operation: SimpleOperation<Int>, capturing probe: MainQueueProbe) {
    operation.addMainActorCompletion { _ in probe.touch() }
  }
}

/// Records whether it was released on the main queue, which need not be on the main thread in a
/// program on Linux.
nonisolated private final class MainQueueProbe: Sendable {
  private static let mark: DispatchSpecificKey<Bool> = {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    return key
  }()

  private let released: Gate
  private let onMain: Locked<Bool>

  init(_ released: Gate, _ onMain: Locked<Bool>) {
    self.released = released
    self.onMain = onMain
  }

  func touch() {}

  deinit {
    onMain.withLock { $0 = DispatchQueue.getSpecific(key: Self.mark) == true }
    released.open()
  }
}

#if os(macOS) || os(Linux)
@MainActor enum SignalSample {
  private static var signals: (any DispatchSourceSignal)?

  /// The lines of the article, for a signal that comes at once.
  static func install() {
    signal(SIGTERM, SIG_IGN)
    let signals = DispatchSource.makeSignalSource(signal: SIGTERM)
    signals.setEventHandler { @Sendable in
      Task {
        exit(0)
      }
    }
    signals.setRegistrationHandler { @Sendable in _ = kill(getpid(), SIGTERM) }
    signals.activate()
    Self.signals = signals
  }
}
#endif
