import CompositeOperations
import Foundation
import ManagedOperations
import TestSupport
import Testing

@Suite("6 Task-local values of managed tasks", .timeLimit(.minutes(30))) struct ContextTests {
  init() { Request.registration }

  /// A manager whose code is noted, made by another request. Its reactor has the first attempt of a
  /// task made again.
  private func makeManager(_ seen: @escaping @Sendable () -> SeenRequests) -> OperationManager {
    Request.with(9) {
      OperationManager(
        interceptors: [NotingInterceptor(seen: seen)],
        reactors: [
          .reacting(to: Noting.self, configuration: ReactorConfiguration(reinterceptsOnRequeue: true)) { _ in
            seen().note("key")
            return ""
          } when: { outcome, _ in
            seen().note("decide")
            return outcome.error != nil
          } _: { _ in
            seen().note("react")
            return .requeue()
          }
        ])
    }
  }

  private let places: Set<String> = [
    "intercept", "didHold", "make", "body", "decide", "key", "react", "completion", "sink",
  ]

  @Test(arguments: [true, false]) func task_hasTheValuesOfItsAdd(startsAtOnce: Bool) async {
    let seen = SeenRequests()
    let manager = makeManager { seen }
    manager.report(to: NotingSink(seen: seen))
    let handle = Request.with(1) { manager.add(Noting(seen: seen), startImmediately: false) }
    handle.completion = { _ in seen.note("completion") }
    await Request.elsewhere(2) { handle.start() }
    #expect(await settled(handle).value == 2)
    await manager.waitUntilIdle()
    #expect(seen.places == places)
    #expect(seen.others(than: 1) == [])
  }

  @Test func handleInAComposition_hasTheValuesOfTheComposition() async {
    let seen = SeenRequests()
    let manager = makeManager { seen }
    let handle = Request.$tenant.withValue("tenant 1") { manager.add(Noting(seen: seen), startImmediately: false) }
    let composite = Request.with(1) { CompositeOperation(operations: [handle]) }
    await Request.elsewhere(2) { composite.start() }
    _ = await settled(composite)
    await manager.waitUntilIdle()
    #expect(seen.places == places.subtracting(["completion", "sink"]))
    #expect(seen.others(than: 1) == [])
  }

  @Test func manyRequestsAtOnce_eachSeesItsOwn() async {
    let manager = OperationManager(
      interceptors: [
        .intercepting(Checking.self) { task, _ in
          task.check("intercept")
          return .execute
        }
      ],
      reactors: [
        .reacting(to: Checking.self, key: { _ in nil }) { outcome, task in
          task.check("decide")
          return outcome.error != nil
        } _: { _ in
          .requeue()
        }
      ])
    let wrong = EventRecorder<String>()
    let (told, requests) = (Locked<[Int64: Set<Int?>]>([:]), Locked<[Int64: Int]>([:]))
    manager.report(to: ClosureSink { event in told.withLock { _ = $0[event.id!, default: []].insert(Request.id) } })
    await withTaskGroup(of: Void.self) { group in
      for id in 1...100 {
        group.addTask {
          for _ in 0..<10 {
            let handle = Request.with(id) { manager.add(Checking(request: id, wrong: wrong)) }
            requests.withLock { $0[Int64(handle.id)] = id }
            _ = await settled(handle)
          }
        }
      }
    }
    await manager.waitUntilIdle()
    #expect(wrong.events == [])
    #expect(told.current == requests.current.mapValues { [$0] })
  }

  @Test func cancelledAndStoppedByAnother_sinkSeesTheValuesOfTheTask() async {
    let seen = SeenRequests()
    let manager = OperationManager(interceptors: [.batch(maxCount: 10)])
    manager.report(to: NotingSink(seen: seen))
    let first = Request.with(1) { manager.add(Number(1)) }
    Request.with(1) { _ = manager.add(Number(2)) }
    await until(manager.heldTaskCount == 2)
    await Request.elsewhere(2) { first.cancel() }
    await Request.with(3) { await manager.stop() }
    #expect(seen.places == ["sink"])
    #expect(seen.others(than: 1) == [])
  }

  @Test func handleReleasedByAnother_beforeItsStart_sinkSeesTheValuesOfTheTask() async {
    let seen = SeenRequests()
    let manager = OperationManager()
    manager.report(to: NotingSink(seen: seen))
    let handle = Locked<OperationHandle<Int>?>(Request.with(1) { manager.add(Number(1), startImmediately: false) })
    await Request.elsewhere(2) {
      let last = handle.withLock { $0.take() }
      withExtendedLifetime(last) {}
    }
    await manager.waitUntilIdle()
    #expect(seen.places == ["sink"])
    #expect(seen.others(than: 1) == [])
  }

  @Test func handleCancelledAndReleased_beforeTheSinkIsTold_sinkSeesTheValuesOfTheTask() async {
    let seen = SeenRequests()
    let manager = OperationManager()
    let (entered, goesOn) = (Gate(), Gate())
    manager.report(
      to: ClosureSink { _ in
        if entered.isOpen { return seen.note("sink") }
        entered.open()
        goesOn.waitBlocking()
      })
    async let first: Void = onWorker { _ = manager.add(Number(1), startImmediately: false) }
    await entered.wait()
    Request.with(1) { manager.add(Number(2), startImmediately: false).cancel() }
    goesOn.open()
    await first
    await manager.waitUntilIdle()
    #expect(seen.places == ["sink"])
    #expect(seen.others(than: 1) == ["sink saw - none"])
  }

  @Test func keyOfARateLimit_andABatchThatIsDue_seeTheValuesOfTheTask() async {
    let seen = SeenRequests()
    let clock = ManualClock()
    let manager = OperationManager(
      interceptors: [
        .rateLimit(tokens: 1, per: .seconds(1), clock: clock) { _ in
          seen.note("key")
          return "key"
        }, .batch(maxAge: .seconds(1), clock: clock),
      ], clock: clock)
    let handle = Request.with(1) { manager.add(Noting(seen: seen)) }
    await until(manager.heldTaskCount == 1)
    await clock.waitForSleeper()
    clock.advance(by: .seconds(1))
    _ = await settled(handle)
    #expect(seen.places == ["key", "make", "body"])
    #expect(seen.others(than: 1) == [])
  }

  @Test func batchReleasedByAnother_tasksHaveTheirOwnValues() async {
    let seen = SeenRequests()
    let batch: BatchInterceptor = .batch()
    let manager = OperationManager(interceptors: [batch])
    let handle = Request.with(1) {
      manager.add(
        Scripted { _ in
          seen.note("make")
          return SimpleOperation { seen.note("body") }
        })
    }
    await until(manager.heldTaskCount == 1)
    await Request.elsewhere(2) { batch.flush() }
    _ = await settled(handle)
    #expect(seen.places == ["make", "body"])
    #expect(seen.others(than: 1) == [])
  }

  @Test func group_hasTheValuesOfItsAdd() async throws {
    let seen = SeenRequests()
    let manager = OperationManager()
    let group = Request.with(1) {
      manager.add(
        contentsOf: (0..<3).map { _ in Scripted { _ in SimpleOperation { seen.note("body") } } },
        startImmediately: false)
    }
    group.completion = { _ in seen.note("completion") }
    await Request.elsewhere(2) { group.start() }
    _ = try await group.value
    #expect(seen.places == ["body", "completion"])
    #expect(seen.others(than: 1) == [])
  }

  @Test func randomSourceOfRetrying_seesNothing() async throws {
    let seen = SeenRequests()
    var policy = RetryPolicy(maxAttempts: 2, backoff: .constant(.microseconds(1)), jitter: .full)
    policy.randomSource = NotingGenerator(seen: seen)
    let manager = OperationManager(reactors: [.retrying(policy)])
    let task = Scripted { attempt in attempt == 1 ? failing(TestError.first) : succeeding(1) }
    _ = try await Request.with(1) { try await manager.run(task) }
    #expect(seen.places == ["random source"])
    #expect(seen.some == [])
  }
}

/// A task whose first attempt fails.
private struct Noting: ManagedTask {
  let seen: SeenRequests
  let attempts = Locked(0)

  func makeOperation() -> SimpleOperation<Int> {
    let attempt = attempts.increment()
    seen.note("make")
    return SimpleOperation { [seen] in
      seen.note("body")
      if attempt == 1 { throw TestError.first }
      return attempt
    }
  }
}

private struct NotingInterceptor: Interceptor {
  let seen: @Sendable () -> SeenRequests

  func intercept<T: ManagedTask>(_ task: inout T, batchCount: Int) async throws -> InterceptCommand {
    seen().note("intercept")
    await Task.yield()
    seen().note("intercept")
    return .hold
  }

  func didHold<T: ManagedTask>(_ task: T, as held: HeldTask) {
    seen().note("didHold")
    held.release()
  }
}

/// A task that looks for its request, and is made twice.
private struct Checking: ManagedTask {
  let request: Int
  let wrong: EventRecorder<String>
  let attempts = Locked(0)

  func check(_ place: String) {
    if Request.id != request { wrong.record("\(place) of \(request): \(Request.current)") }
  }

  func makeOperation() -> SimpleOperation<Void> {
    let attempt = attempts.increment()
    check("make")
    return SimpleOperation { [self] in
      check("body")
      if attempt == 1 { throw TestError.first }
    }
  }
}

private struct NotingGenerator: RandomNumberGenerator, Sendable {
  let seen: SeenRequests

  func next() -> UInt64 {
    seen.note("random source")
    return 1
  }
}
