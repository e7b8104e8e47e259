import Foundation
import OperationTimelines
import TestSupport
import Testing

@testable import CompositeOperations

/// Operations that share a limit.
@Suite("Shared limits", .hangLimit)
struct LimitTests {
  private let limit = SharedLimit("api", maxConcurrent: 2)

  private func start(_ operations: Operation...) async {
    await onWorker { for operation in operations { operation.start() } }
  }

  @Test func operations_ofNoCommonQueue_shareTheLimit() async {
    let (gauge, queues) = (ConcurrencyGauge(), (0..<4).map { _ in OperationQueue() })
    let operations = (0..<200).map { number in
      AsyncOperation {
        gauge.enter()
        await Task.yield()
        gauge.leave()
        return number
      }.limited(by: limit)
    }
    for (number, operation) in operations.enumerated() {
      if number % 5 < 4 { queues[number % 5].addOperation(operation) } else { await start(operation) }
    }
    for (number, operation) in operations.enumerated() { #expect(await settled(operation).value == number) }
    #expect(gauge.maximum <= 2 && gauge.total == 200)
    #expect(limit.isUnused)
  }

  @Test func isReady_readBeforeTheStart_givesNoPlace() async {
    let (limit, recorder, holder) = (SharedLimit(maxConcurrent: 1), EventRecorder<Int>(), HeldOperation<Int>())
    let holding = holder.limited(by: limit)
    await start(holding)
    await holder.started.wait()
    let operations = (0..<10).map { number in
      SimpleOperation {
        recorder.record(number)
        return number
      }.limited(by: limit)
    }
    for operation in operations.reversed() { #expect(operation.isReady) }
    for operation in operations { await start(operation) }
    holder.finish(with: 1)
    for operation in operations { #expect(await settled(operation).value != nil) }
    #expect(recorder.events == Array(0..<10))
  }

  @Test func weights_count() async {
    let limit = SharedLimit(maxConcurrent: 5)
    let weight = Locked((now: 0, most: 0))
    let operations = (0..<100).map { number in
      AsyncOperation {
        weight.withLock { weight in
          weight.now += 1 + number % 4
          weight.most = max(weight.most, weight.now)
        }
        await Task.yield()
        weight.withLock { $0.now -= 1 + number % 4 }
      }.limited(by: limit, weight: 1 + number % 4)
    }
    #expect(await outcomeOfStarting(all(operations)).value?.count == 100)
    #expect((1...5).contains(weight.current.most) && weight.current.now == 0)
    #expect(limit.isUnused)
  }

  @Test func order_isThatOfStarting_andTheHeavyHeadIsNotOvertaken() async {
    let order = EventRecorder<String>()
    let holder = HeldOperation<Int>()
    let heavy = HeldOperation<Int>()
    let holding = holder.limited(by: limit)
    await start(holding)
    await holder.started.wait()
    let heavies = heavy.limited(by: limit, weight: 2)
    let lights = (0..<5).map { succeeding($0, named: "\($0)", recorder: order).limited(by: limit) }
    await onWorker {
      heavies.start()
      for light in lights { light.start() }
    }
    // There is room for a light one.
    #expect(limit.waitingCount == 6)
    holder.finish(with: 1)
    await heavy.started.wait()
    #expect(limit.waitingCount == 5 && order.events == [])
    limit.maxConcurrent = 3
    for light in lights { _ = await settled(light) }
    #expect(Set(order.events) == ["0", "1", "2", "3", "4"])
    #expect(!heavies.isFinished)
    heavy.finish(with: 1)
    #expect(await settled(heavies).value == 1)
    #expect(await Patience.reached { limit.isUnused })
  }

  @Test func children_ofAComposite_goInTheirOrder() async {
    let limit = SharedLimit(maxConcurrent: 1)
    let order = EventRecorder<String>()
    let holder = HeldOperation<Int>()
    let holding = holder.limited(by: limit)
    await start(holding)
    await holder.started.wait()
    let children = (0..<20).map { succeeding($0, named: "\($0)", recorder: order).limited(by: limit) }
    let composite = CompositeOperation(operations: children)
    await start(composite)
    #expect(await Patience.reached { limit.waitingCount == 20 })
    holder.finish(with: 1)
    _ = await settled(composite)
    #expect(order.events == (0..<20).map { "\($0)" })
  }

  @Test func waiting_inACompositesQueue_takesNoSlot() async {
    let (holder, ran) = (HeldOperation<Int>(), Gate())
    let holding = holder.limited(by: limit, weight: 2)
    await start(holding)
    await holder.started.wait()
    let waiting = succeeding(1).limited(by: limit)
    let composite = CompositeOperation(
      operations: [waiting, BlockOperation { ran.open() }], operationQueue: OperationQueue(limit: 1))
    await start(composite)
    await ran.wait()
    #expect(await Patience.reached { limit.waitingCount == 1 })
    holder.finish(with: 1)
    #expect(await settled(composite).value != nil)
  }

  @Test func dependencies_unmet_keepNobodyWaiting() async {
    let dependency = HeldOperation<Int>()
    let dependent = succeeding(1)
    dependent.addDependency(dependency)
    let waiting = dependent.limited(by: limit, weight: 2)
    await start(waiting)
    #expect(await outcomeOfStarting(succeeding(2).limited(by: limit, weight: 2)).value == 2)
    await start(dependency)
    dependency.finish(with: 1)
    #expect(await settled(waiting).value == 1)
  }

  @Test func plainOperation_isLimited() async {
    let ran = Gate()
    let limited = BlockOperation { ran.open() }.asSimpleOperation().limited(by: limit)
    #expect(await outcomeOfStarting(limited).value != nil)
    #expect(ran.isOpen)
  }

  // MARK: - Leaving the line

  @Test(arguments: 0..<3) func cancelOrSettle_whileWaiting_leavesTheLine(how: Int) async {
    let (holder, work) = (HeldOperation<Int>(), HeldOperation<Int>())
    let holding = holder.limited(by: limit)
    let heavy = work.limited(by: limit, weight: 2)
    let light = succeeding(3).limited(by: limit)
    await start(holding)
    await holder.started.wait()
    await start(heavy, light)
    #expect(limit.waitingCount == 2)
    switch how {
    case 0: heavy.cancel()
    case 1: work.cancel()
    default: #expect(heavy.finish(with: 5))
    }
    #expect(await settled(light).value == 3)
    let outcome = await settled(heavy)
    #expect(how == 2 ? outcome.value == 5 : outcome.isCancelled)
    // The worker that put it in line may do that.
    #expect(await settled(work).isCancelled)
    #expect(!work.started.isOpen)
    holder.finish(with: 1)
    _ = await settled(holding)
    #expect(limit.isUnused)
  }

  @Test func cancel_whileRunning_keepsTheRoomUntilTheBodyHasEnded() async {
    let limit = SharedLimit(maxConcurrent: 1)
    let holder = HeldOperation<Int>()
    let holding = holder.limited(by: limit)
    let next = succeeding(2).limited(by: limit)
    await start(holding)
    await holder.started.wait()
    await start(next)
    holding.cancel()
    await holder.cancelRequested.wait()
    #expect(limit.waitingCount == 1)
    holder.finish(with: 1)
    #expect(await settled(holding).isCancelled)
    #expect(await settled(next).value == 2)
  }

  // MARK: - Changes

  @Test func limit_raised_letsThemGo_lowered_interruptsNothing() async {
    let held = (0..<4).map { HeldOperation<Int>("\($0)") }
    let limited = held.map { $0.limited(by: limit) }
    await onWorker { for operation in limited { operation.start() } }
    await held[1].started.wait()
    #expect(limit.waitingCount == 2 && !held[2].started.isOpen)
    limit.maxConcurrent = 3
    await held[2].started.wait()
    #expect(limit.maxConcurrent == 3 && limit.waitingCount == 1)
    limit.maxConcurrent = 1
    #expect(!held[0].isCancelled && !held[1].isCancelled && !held[2].isCancelled)
    for number in 0..<2 {
      held[number].finish(with: number)
      _ = await settled(limited[number])
    }
    #expect(limit.waitingCount == 1 && !held[3].started.isOpen)
    held[2].finish(with: 2)
    await held[3].started.wait()
    held[3].finish(with: 3)
    for (number, operation) in limited.enumerated() { #expect(await settled(operation).value == number) }
  }

  @Test func heavierThanTheLimit_fails() async throws {
    let work = HeldOperation<Int>("upload")
    let limited = work.limited(by: limit, weight: 3)
    let error = try #require(await outcomeOfStarting(limited).error as? LimitError)
    #expect(error.weight == 3 && error.greatestWeight == 2 && error.limitName == "api")
    #expect(
      error.description == """
        “upload” (HeldOperation<Int>) has a weight of 3, but “api” admits at most 2, so the operation could never run. \
        Give it a lower weight, or raise the limit.
        """)
    #expect(!work.started.isOpen && work.isCancelled && limit.isUnused)

    let started = HeldOperation<Int>("upload")
    started.start()
    let late = try #require(await outcomeOfStarting(started.limited(by: limit, weight: 3)).error as? LimitError)
    #expect(
      late.description == """
        “upload” (HeldOperation<Int>) has a weight of 3, but “api” admits at most 2, so it was not waited for. Other code \
        has started it. Give it a lower weight, or raise the limit.
        """)
    started.finish(with: 1)

    limit.rate = SharedLimit.Rate.tokens(1, per: .seconds(1))
    let second = succeeding(1).limited(by: limit, weight: 2)
    #expect((await outcomeOfStarting(second).error as? LimitError)?.greatestWeight == 1)
  }

  @Test func heavierThanTheLoweredLimit_whileWaiting_fails() async {
    let holder = HeldOperation<Int>()
    let holding = holder.limited(by: limit, weight: 2)
    let heavy = succeeding(2).limited(by: limit, weight: 2)
    let light = succeeding(3).limited(by: limit)
    await start(holding)
    await holder.started.wait()
    await start(heavy, light)
    limit.maxConcurrent = 1
    #expect((await settled(heavy).error as? LimitError)?.greatestWeight == 1)
    #expect(!holder.isCancelled && limit.waitingCount == 1)
    holder.finish(with: 1)
    #expect(await settled(holding).value == 1)
    #expect(await settled(light).value == 3)
  }

  // MARK: - Inside of each other

  @Test func sameLimit_inside_usesTheRoomOfTheHolder() async {
    let limit = SharedLimit(maxConcurrent: 1)
    let inner = (0..<3).map { HeldOperation<Int>("\($0)") }
    let other = succeeding(9)
    let outer = CompositeOperation(
      operations: inner.map { $0.limited(by: limit, weight: 5) } + [other.limited(by: limit).exclusive("x")]
    ).limited(by: limit)
    let behind = succeeding(7).limited(by: limit)
    await start(outer, behind)
    for operation in inner { await operation.started.wait() }
    #expect(!behind.isFinished)
    for operation in inner { operation.finish(with: 1) }
    #expect(await settled(outer).value?.count == 4)
    #expect(await settled(behind).value == 7)
    #expect(await Patience.reached { limit.isUnused })
  }

  @Test func heavierThanTheRate_inside_failsWithTheRate() async throws {
    let limit = SharedLimit("api", maxConcurrent: 2, rate: .tokens(5, per: .seconds(1)))
    let inner = succeeding(1).limited(by: limit, weight: 6)
    let error = try #require(await outcomeOfStarting(inner.limited(by: limit)).error as? LimitError)
    #expect(error.weight == 6 && error.greatestWeight == 5)
    #expect(
      (await outcomeOfStarting(succeeding(1).limited(by: limit, weight: 6)).error as? LimitError)?.greatestWeight == 2)
  }

  @Test func heavierThanTheLoweredRate_whileWaitingInside_failsWithTheRate() async {
    let clock = ManualClock()
    let limit = SharedLimit(maxConcurrent: 2, rate: .tokens(5, per: .seconds(5)), clock: clock)
    let outer = succeeding(1).limited(by: limit, weight: 5).limited(by: limit)
    await start(outer)
    await clock.waitForSleeper(dueIn: .seconds(1))
    limit.rate = .tokens(4, per: .seconds(5))
    #expect((await settled(outer).error as? LimitError)?.greatestWeight == 4)
  }

  @Test func holder_settledByOthers_keepsTheRoomForThoseInside() async {
    let limit = SharedLimit(maxConcurrent: 1)
    let inner = HeldOperation<Int>()
    let outer = inner.limited(by: limit).map { $0 }.limited(by: limit)
    let behind = succeeding(7).limited(by: limit)
    await start(outer)
    await inner.started.wait()
    await start(behind)
    #expect(outer.finish(with: 3))
    await inner.cancelRequested.wait()
    #expect(limit.waitingCount == 1)
    inner.finish(with: 1)
    #expect(await settled(behind).value == 7)
    #expect(await Patience.reached { limit.isUnused })
  }

  // MARK: - Lifetimes

  @Test func limit_released_lastsAsLongAsItsOperations() async {
    let holder = HeldOperation<Int>()
    func make() -> ([SimpleOperation<Int>], WeakReference<SharedLimit>) {
      let limit = SharedLimit(maxConcurrent: 1)
      return ([holder.limited(by: limit), succeeding(2).limited(by: limit)], WeakReference(limit))
    }
    var (operations, reference) = make()
    await onWorker { [operations] in for operation in operations { operation.start() } }
    await holder.started.wait()
    holder.finish(with: 1)
    #expect(await settled(operations[0]).value == 1)
    #expect(await settled(operations[1]).value == 2)
    #expect(reference.object != nil)
    operations = []
    await untilReleased(reference)
    #expect(reference.object == nil)
  }

  @Test func cancelled_whileItWaitsForAnOperationStartedElsewhere_isNotKeptByThat() async {
    let elsewhere = HeldOperation<Int>()
    await start(elsewhere)
    await elsewhere.started.wait()
    let gate = Locked<WeakReference<SettlementGate>?>(nil)
    do {
      let limited = elsewhere.limited(by: limit)
      limited.addTreeObserver { operation, _ in
        if let found = operation as? SettlementGate { gate.withLock { $0 = WeakReference(found) } }
      }
      await start(limited)
      await Patience.untilAwaited(elsewhere)
      limited.cancel()
      #expect(await settled(limited).isCancelled)
    }
    #expect(gate.current != nil && !elsewhere.isFinished)
    if let gate = gate.current { await untilReleased(gate) }
    elsewhere.finish(with: 1)
    #expect(limit.isUnused)
  }

  // MARK: - What is shown

  @Test func timeline_showsTheWait() async throws {
    let holder = HeldOperation<Int>("holder")
    let holding = holder.limited(by: limit, weight: 2)
    let waiting = succeeding(1, named: "work").limited(by: limit)
    let recorder = TimelineRecorder()
    recorder.attach(to: waiting)
    await start(holding)
    await holder.started.wait()
    await start(waiting)
    // It waits from the start on, and is shown after its first evaluation.
    #expect(await Patience.reached { waiting.mermaid().contains("waits for “api”") })
    holder.finish(with: 1)
    await finished(waiting)
    let timeline = recorder.timeline
    #expect(timeline.entries.map(\.kind) == [.limited, .wait, .operation])
    #expect(timeline.entries.map(\.title) == ["work", "waits for “api”", "work"])
    #expect(timeline.textTree().contains("✓ work (limited)"))
    let kept = try JSONDecoder().decode(Timeline.self, from: JSONEncoder().encode(timeline))
    #expect(kept == timeline)
    for text in [timeline.html(), timeline.chromeTrace(), timeline.mermaid()] {
      #expect(text.contains("limited") && !text.contains("ReservationGate") && !text.contains("ComposedOperation"))
    }
  }

  @Test func progress_ofTheWait_countsNothing() async {
    let (holder, work) = (HeldOperation<Int>(), HeldOperation<Int>())
    let holding = holder.limited(by: limit, weight: 2)
    let waiting = work.limited(by: limit)
    #expect(waiting.fractionCompleted == 0)
    await start(holding)
    await holder.started.wait()
    await start(waiting)
    #expect(waiting.fractionCompleted == 0 && waiting.isProgressIndeterminate)
    holder.finish(with: 1)
    await work.started.wait()
    work.reportProgress(0.5)
    #expect(waiting.fractionCompleted == 0.5)
    work.finish(with: 1)
    #expect(await settled(waiting).value == 1)
    #expect(waiting.fractionCompleted == 1)
  }

  // MARK: - Races

  @Test func race_ofCancelGrantAndRelease_keepsTheLimitRight() async {
    let limit = SharedLimit(maxConcurrent: 2)
    let complaints = await Race.run(rounds: Scale.count(3_000, least: 500), threads: 4) { _, random in
      let operations = (0..<4).map { succeeding($0).limited(by: limit, weight: 1 + $0 % 2) }
      let cancelled = random.pick(operations)
      let (done, count) = (Gate(), Locked(0))
      for operation in operations { operation.completion = { _ in if count.increment() == 4 { done.open() } } }
      return Race.Round(
        bodies: [
          { for operation in operations[..<2] { operation.start() } },
          { for operation in operations[2...] { operation.start() } },
          { cancelled.cancel() },
          {
            limit.maxConcurrent = 4
            limit.maxConcurrent = 2
          },
        ],
        check: {
          done.waitBlocking()
          // The last operation may still be concluding.
          while !limit.isUnused { sched_yield() }
          let isRight = operations.allSatisfy { $0.outcome?.value != nil || $0 === cancelled }
          return complaint("\(operations)", unless: isRight)
        })
    }
    #expect(complaints == [])
  }

  @Test func manyWaiters_settle() async {
    let limit = SharedLimit(maxConcurrent: 3)
    let count = Scale.count(10_000, least: 2_000)
    let operations = (0..<count).map { succeeding($0).limited(by: limit, weight: 1 + $0 % 3) }
    #expect(await outcomeOfStarting(all(operations)).value == Array(0..<count))
    #expect(await Patience.reached { limit.isUnused })
  }

  #if os(macOS) || os(Linux)
  @Test(arguments: 0..<5) func badInput_traps(which: Int) async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [which] in
      switch which {
      case 0: _ = SharedLimit(maxConcurrent: 0)
      case 1: SharedLimit(maxConcurrent: 1).maxConcurrent = -1
      case 2: _ = SharedLimit.Rate.tokens(0, per: .seconds(1))
      case 3: _ = SharedLimit.Rate.tokens(1, per: .zero)
      default: _ = SimpleOperation<Void> {}.limited(by: SharedLimit(), weight: 0)
      }
    }
    try expect(result, says: "was given", "Use")
  }
  #endif
}
