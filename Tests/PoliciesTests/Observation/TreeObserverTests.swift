import CompositeOperations
import Foundation
import OperationTimelines
import TestSupport
import Testing

/// Observers of an operation and all operations in it.
@Suite("8 Observers of trees", .hangLimit)
struct TreeObserverTests {
  private let told = EventRecorder<String>()

  private func describe(_ operation: Operation, _ event: OperationEvent) -> String {
    let text = event.child.map { "child \(title($0))" } ?? "\(event)"
    return "\(title(operation)): \(text)"
  }

  private func title(_ operation: Operation) -> String { operation.name ?? "\(type(of: operation))" }

  @discardableResult
  private func watch(_ operation: SettlingOperation) -> ObservationToken {
    operation.addTreeObserver { [told] operation, event in told.record(describe(operation, event)) }
  }

  private func named<O: Operation>(_ name: String, _ operation: O) -> O {
    operation.name = name
    return operation
  }

  // MARK: - Events

  @Test func sequenceOfComposites_isToldInOrder() async {
    let inner = named("inner", CompositeOperation(operations: [succeeding(1, named: "a")]))
    let plain = named("plain", BlockOperation {})
    let root = named(
      "root",
      CompositeOperation(
        sequence: LinearSequence({ _ in inner }, { _ in plain }, { _ in failing(TestError.first, named: "b") })))
    watch(root)
    _ = await outcomeOfStarting(root)
    #expect(
      told.events.dropLast() == [
        "root: started",
        "root: child inner", "inner: started", "inner: child a", "a: started", "a: settled: success(1)",
        "inner: settled: success([1])",
        "root: child plain", "plain: started", "plain: settled: success(())",
        "root: child b", "b: started", "b: settled: failure(test error first)",
      ])
    #expect(told.events.last?.hasPrefix("root: settled: failure(") == true)
  }

  @Test func policies_areToldWithTheirAttemptsAndWaits() async {
    let clock = ManualClock()
    let policy = RetryPolicy(maxAttempts: 2, backoff: .constant(.seconds(1)), jitter: .none)
    let retried = named(
      "retry",
      retrying(policy, clock: clock) { attempt in
        attempt.number == 1 ? failing(TestError.first, named: "1") : succeeding(2, named: "2")
      })
    let root = named("root", retried.condition(Condition("sunny") { _ in true }))
    watch(root)
    await onWorker { root.start() }
    await clock.waitForSleeper(dueIn: .seconds(1))
    clock.advance(by: .seconds(1))
    _ = await settled(root)
    #expect(
      told.events == [
        "root: started",
        "root: child evaluates “sunny”", "evaluates “sunny”: started", "evaluates “sunny”: settled: success(())",
        "root: child retry", "retry: started",
        "retry: child 1", "1: started", "1: settled: failure(test error first)",
        "retry: child DelayOperation", "DelayOperation: started", "DelayOperation: settled: success(())",
        "retry: child 2", "2: started", "2: settled: success(2)",
        "retry: settled: success(2)",
        "root: settled: success(2)",
      ])
  }

  @Test func typedForms_areTold() async {
    let root = named(
      "root",
      zip(named("map", succeeding(1, named: "a").map { $0 + 1 }), succeeding(2, named: "b")).then { pair in
        forEach([pair.0, pair.1], maxConcurrent: 1) { succeeding($0, named: "each \($0)") }
      })
    watch(root)
    #expect(await outcomeOfStarting(root).value == [2, 2])
    for name in ["a", "map", "b", "each 2"] {
      #expect(told.events.contains { $0.hasPrefix("\(name): settled: success") }, "\(name)")
    }
    #expect(told.count(of: "each 2: started") == 2)
  }

  @Test func drivenOperation_isTold() async {
    let children = (0..<3).map { succeeding($0, named: "\($0)") }
    let left = Locked(3)
    let driven = named(
      "driven",
      DrivenOperation<Int>(
        driver: DrivenOperation.Driver(
          didStart: { $0.run(tags: [0, 1, 2]) },
          makeOperation: { _, tag in (children[tag], tag: tag) },
          operationDidSettle: { driven, _, _ in
            let count = left.withLock { left in
              left -= 1
              return left
            }
            if count == 0 { driven.finish(with: 7) }
            return []
          },
          wasCancelled: { $0.cancelAll() })))
    let root = named("root", CompositeOperation(operations: [driven]))
    watch(root)
    _ = await outcomeOfStarting(root)
    for child in 0..<3 {
      #expect(
        told.events.filter { $0.hasPrefix("\(child): ") || $0 == "driven: child \(child)" } == [
          "driven: child \(child)", "\(child): started", "\(child): settled: success(\(child))",
        ])
    }
    #expect(told.events.suffix(2) == ["driven: settled: success(7)", "root: settled: success([7])"])
  }

  @Test func plainOperations_areTold_alsoCancelledOnes() async {
    let plain = (0..<2).map { number in named("\(number)", AsyncPlainOperation()) }
    let root = named("root", CompositeOperation(operations: plain))
    root.failurePolicy = .waitForAll
    watch(root)
    await onWorker { root.start() }
    for operation in plain { await operation.started.wait() }
    plain[0].cancel()
    plain[1].complete()
    _ = await settled(root)
    #expect(told.contains("0: settled: cancelled") && told.contains("1: settled: success(())"))
    #expect(told.events.prefix(3) == ["root: started", "root: child 0", "root: child 1"])
  }

  @Test func childrenThatNeverRun_areToldToHaveSettledOnly() async {
    let held = HeldOperation<Int>("held", settlesWhenCancelled: true)
    let waiting = HeldOperation<Int>("waiting")
    let root = named("root", CompositeOperation(operations: [held, waiting]))
    root.maxConcurrentOperationCount = 1
    watch(root)
    await onWorker { root.start() }
    await held.started.wait()
    root.cancel()
    #expect(await settled(root).isCancelled)
    #expect(
      told.events.filter { $0.hasPrefix("waiting") } == ["waiting: settled: cancelled"])
    #expect(told.count(of: "root: cancelled") == 1)
    #expect(told.events.last == "root: settled: cancelled")
  }

  @Test func leaf_andSettledOperation_areToldOf() {
    let leaf = succeeding(1, named: "leaf")
    watch(leaf)
    leaf.start()
    #expect(told.events == ["leaf: started", "leaf: settled: success(1)"])
    watch(leaf)
    #expect(told.events.last == "leaf: settled: success(1)" && told.count == 3)
  }

  @Test func operationOfAnotherOwner_isToldOnceItIsWaitedFor() async {
    let shared = HeldOperation<Int>("shared")
    await onWorker { shared.start() }
    let root = named("root", shared.map { $0 })
    watch(root)
    await onWorker { root.start() }
    await told.wait(for: "shared: started")
    root.cancel()
    #expect(await settled(root).isCancelled)
    #expect(!told.events.contains { $0.hasPrefix("shared: settled") })
    shared.finish(with: 1)
    #expect(!told.events.contains { $0.hasPrefix("shared: settled") })
  }

  @Test func end_isTheLastEvent_alsoWhereWorkWindsDown() async {
    let clock = ManualClock()
    let work = HeldOperation<Int>("work")
    let root = named("root", work.timeout(.seconds(1), clock: clock))
    watch(root)
    await onWorker { root.start() }
    await work.started.wait()
    await clock.waitForSleeper(dueIn: .seconds(1))
    clock.advance(by: .seconds(1))
    #expect(await settled(root).error is OperationTimeout)
    work.finish(with: 1)
    await finished(work)
    #expect(told.events.prefix(3) == ["root: started", "root: child work", "work: started"])
    #expect(told.events.last?.hasPrefix("root: settled: failure(") == true)
    #expect(told.count == 4)
  }

  // MARK: - Late

  @Test func addedWhileRunning_isToldFromThenOn() async {
    let (first, second) = (HeldOperation<Int>("1"), HeldOperation<Int>("2"))
    let inner = named(
      "inner", CompositeOperation(sequence: ClosureSequence { $0 == nil ? first : $0 === first ? second : nil }))
    let root = named(
      "root", CompositeOperation(operations: [inner.map { $0 }.condition(Condition("yes") { _ in true })]))
    await onWorker { root.start() }
    await first.started.wait()
    // The thread that starts it tells monitors that are added in that moment, too.
    await Patience.untilAwaited(first)
    watch(root)
    #expect(told.events == [])
    first.finish(with: 1)
    await second.started.wait()
    #expect(
      told.events == ["1: settled: success(1)", "inner: child 2", "2: started"])
    second.finish(with: 2)
    _ = await settled(root)
    #expect(told.events.contains("2: settled: success(2)") && told.events.contains("inner: settled: success([1, 2])"))
    #expect(told.events.last?.hasPrefix("root: settled: success") == true)
  }

  /// A plain operation that, once armed, calls a closure when `isFinished` is read.
  private final class Asked: Operation, @unchecked Sendable {  // armed under a lock
    private let hook = Locked<(@Sendable () -> Void)?>(nil)

    func arm(_ hook: @escaping @Sendable () -> Void) { self.hook.withLock { $0 = hook } }

    override var isFinished: Bool {
      let armed = hook.withLock { hook in
        defer { hook = nil }
        return hook
      }
      armed?()
      return super.isFinished
    }
  }

  @Test func addedWhileAnotherIsBeingAdded_isToldOfWhatHappensInside() async {
    let (first, second) = (HeldOperation<Int>("1"), HeldOperation<Int>("2"))
    let inner = named(
      "inner", CompositeOperation(sequence: ClosureSequence { $0 == nil ? first : $0 === first ? second : nil }))
    let asked = named("asked", Asked())
    let root = named("root", CompositeOperation(operations: [CompositeOperation(operations: [inner]), asked]))
    root.maxConcurrentOperationCount = 1
    await onWorker { root.start() }
    await first.started.wait()
    // The thread that starts it tells monitors that are added in that moment, too.
    await Patience.untilAwaited(first)
    asked.arm { [told] in
      self.watch(root)
      first.finish(with: 1)
      // On this thread or another.
      second.started.waitBlocking()
      told.record("added")
    }
    await onWorker { _ = root.addTreeObserver { _, _ in } }
    #expect(told.events.prefix(4) == ["1: settled: success(1)", "inner: child 2", "2: started", "added"])
    second.finish(with: 2)
    _ = await settled(root)
    #expect(told.contains("2: settled: success(2)") && told.contains("inner: settled: success([1, 2])"))
    #expect(told.count(of: "2: settled: success(2)") == 1)
  }

  // MARK: - Where, and how long

  @Test func onTheMainActor_allAreToldThere_inOrder() async {
    func start() -> WeakReference<CompositeOperation> {
      let children = (0..<50).map { succeeding($0, named: "\($0)") }
      let root = named("root", CompositeOperation(operations: children))
      root.addMainActorTreeObserver { [self] operation, event in told.record(describe(operation, event)) }
      OperationQueue().addOperation(root)
      return WeakReference(root)
    }
    _ = start()
    await told.wait { $0.last?.hasPrefix("root: settled: success(") == true }
    #expect(told.count == 2 + 50 * 3)
    for child in 0..<50 {
      #expect(
        told.events.filter { $0.hasPrefix("\(child): ") } == [
          "\(child): started", "\(child): settled: success(\(child))",
        ])
    }
  }

  @Test func twoObservers_areToldInTheOrderOfAdding() async {
    let root = named("root", CompositeOperation(operations: [succeeding(1, named: "a")]))
    for number in 1...2 {
      root.addTreeObserver { [told] operation, event in told.record("\(number) \(describe(operation, event))") }
    }
    root.addObserver { [told] event in told.record("3 \(event.kind)") }
    _ = await outcomeOfStarting(root)
    #expect(
      told.events.filter { !$0.hasPrefix("3") }
        == [
          "root: started", "root: child a", "a: started", "a: settled: success(1)", "root: settled: success([1])",
        ].flatMap { ["1 \($0)", "2 \($0)"] })
    #expect(
      told.events.filter { $0.hasPrefix("3") && $0 != "3 progress" } == ["3 started", "3 childAdded", "3 settled"])
  }

  @Test func observersOfATreeAndOfAPartOfIt_areBothTold() async {
    let inner = named("inner", CompositeOperation(operations: [succeeding(1, named: "a")]))
    let root = named("root", CompositeOperation(operations: [inner]))
    let partly = EventRecorder<String>()
    inner.addTreeObserver { operation, event in partly.record(describe(operation, event)) }
    watch(root)
    _ = await outcomeOfStarting(root)
    let ofInner = [
      "inner: started", "inner: child a", "a: started", "a: settled: success(1)", "inner: settled: success([1])",
    ]
    #expect(partly.events == ofInner)
    #expect(told.events.filter { !$0.hasPrefix("root") } == ofInner)
  }

  @Test func removed_isNotToldAnyMore_andReleased() async {
    let (first, second, released) = (HeldOperation<Int>("1"), HeldOperation<Int>("2"), Gate())
    let root = named(
      "root", CompositeOperation(sequence: ClosureSequence { $0 == nil ? first : $0 === first ? second : nil }))
    func add() -> ObservationToken {
      let probe = ReleaseProbe(released)
      return root.addTreeObserver { [told] operation, event in
        probe.touch()
        told.record(describe(operation, event))
      }
    }
    let token = add()
    await onWorker { root.start() }
    await first.started.wait()
    #expect(!released.isOpen)
    token.remove()
    #expect(released.isOpen)
    let count = told.count
    first.finish(with: 1)
    await second.started.wait()
    second.finish(with: 2)
    _ = await settled(root)
    #expect(told.count == count)
  }

  @Test func lastTreeObserver_leaving_cancels() async {
    let held = HeldOperation<Int>("held", settlesWhenCancelled: true)
    let root = named("root", CompositeOperation(operations: [held]))
    root.cancelsWhenLastObserverLeaves = true
    let token = watch(root)
    await onWorker { root.start() }
    await held.started.wait()
    token.remove()
    #expect(await settled(root).isCancelled)
  }

  @Test func settledOrDropped_releasesTheObserver() async {
    for isStarted in [true, false] {
      let released = Gate()
      func make() -> CompositeOperation {
        let probe = ReleaseProbe(released)
        let root = CompositeOperation(operations: [CompositeOperation(operations: [succeeding(1)])])
        root.addTreeObserver { _, _ in probe.touch() }
        return root
      }
      var root: CompositeOperation? = make()
      if isStarted, let root { _ = await outcomeOfStarting(root) } else { root = nil }
      await released.wait()
      #expect(isStarted == (root != nil))
    }
  }

  // MARK: - Many, and at random

  @Test func tenThousandChildren_areEachToldOnce_oneAtATime() async {
    struct Count {
      var events: [ObjectIdentifier: [OperationEvent.Kind]] = [:]
      /// So that no address is used twice.
      var operations: [Operation] = []
      var isTelling = false
      var overlaps = 0
    }
    let count = Locked(Count())
    let inner = (0..<100).map { _ in CompositeOperation(operations: (0..<100).map { succeeding($0) }) }
    let root = CompositeOperation(operations: inner)
    root.addTreeObserver { operation, event in
      count.withLock { count in
        if count.isTelling { count.overlaps += 1 }
        count.isTelling = true
        count.events[ObjectIdentifier(event.child ?? operation), default: []].append(event.kind)
        if let child = event.child { count.operations.append(child) }
      }
      count.withLock { $0.isTelling = false }
    }
    _ = await outcomeOfStarting(root)
    let (events, overlaps) = count.withLock { ($0.events, $0.overlaps) }
    #expect(events.count == 10_101 && overlaps == 0)
    #expect(events.filter { $0.value != [.childAdded, .started, .settled] }.map(\.key) == [ObjectIdentifier(root)])
  }

  @Test(arguments: 0..<40) func randomTree_isToldAsTheTimelineHasIt(seed: Int) async {
    var random = SeededRandomNumberGenerator(seed: UInt64(seed))
    let number = Locked(0)
    func tree(_ depth: Int) -> Operation {
      let name = "\(number.increment())"
      func two() -> [Operation] { [tree(depth - 1), tree(depth - 1)] }
      let made: Operation =
        switch depth == 0 ? 0 : random.number(0...6) {
        case 0: random.chance(30) ? failing(TestError.first, as: Int.self) : succeeding(1)
        case 1: BlockOperation {}
        case 2: CompositeOperation(operations: two())
        case 3: CompositeOperation(sequence: ListSequence(two()))
        case 4:
          tree(depth - 1).asSimpleOperation()
            .condition(Condition("\(name)?") { [holds = random.chance(70)] _ in holds })
        case 5: tree(depth - 1).asSimpleOperation().exclusive("x", in: ExclusionRegistry())
        default: tree(depth - 1).asSimpleOperation().limited(by: SharedLimit(maxConcurrent: 1))
        }
      return named(name, made)
    }
    let root = named("root", CompositeOperation(operations: [tree(4), tree(4), tree(4)]))
    let ended = EventRecorder<String>()
    root.addTreeObserver { operation, event in
      guard let outcome = event.outcome else { return }
      let ending = outcome.isCancelled ? "cancelled" : outcome.error == nil ? "success" : "failure"
      ended.record("\(title(operation)) \(ending)")
    }
    let recorder = TimelineRecorder()
    recorder.attach(to: root)
    _ = await outcomeOfStarting(root)
    #expect(await Patience.reached { recorder.timeline.entries.allSatisfy { $0.settled != nil } })
    let recorded = recorder.timeline.entries.map { entry in
      let ending =
        switch entry.ending {
        case .success: "success"
        case .failure: "failure"
        case .cancelled: "cancelled"
        case nil: "none"
        }
      return "\(entry.title) \(ending)"
    }
    #expect(ended.events.sorted() == recorded.sorted())
    #expect(ended.events.last?.hasPrefix("root ") == true)
  }

  @Test func race_ofAddingAndRunning_tellsNothingTwice() async {
    let complaints = await Race.run(rounds: Scale.count(1_500, least: 300), threads: 2) { _, _ in
      let leaves = (0..<4).map { succeeding($0) }
      let root = CompositeOperation(operations: [
        CompositeOperation(operations: Array(leaves[..<2])),
        leaves[2].map { $0 }.exclusive("x", in: ExclusionRegistry()),
        CompositeOperation(sequence: ListSequence([CompositeOperation(operations: [leaves[3]])])),
      ])
      let events = Locked<[(Operation, OperationEvent.Kind)]>([])
      let ended = Gate()
      return Race.Round(
        bodies: [
          { root.start() },
          {
            root.addTreeObserver { operation, event in
              events.withLock { $0.append((event.child ?? operation, event.kind)) }
              if event.outcome != nil, operation === root { ended.open() }
            }
          },
        ],
        check: {
          ended.waitBlocking()
          var kinds: [ObjectIdentifier: [OperationEvent.Kind]] = [:]
          for (operation, kind) in events.current { kinds[ObjectIdentifier(operation), default: []].append(kind) }
          // For each operation the last events, in order.
          let all: [OperationEvent.Kind] = [.childAdded, .started, .settled]
          let isRight = kinds.values.allSatisfy { kinds in all.suffix(kinds.count) == kinds[...] }
          return complaint("\(kinds.values)", unless: isRight && events.current.last?.0 === root)
        })
    }
    #expect(complaints == [])
  }
}
