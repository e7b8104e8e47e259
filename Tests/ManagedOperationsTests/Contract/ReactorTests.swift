import CompositeOperations
import Foundation
import HTTPOperations
import ManagedOperations
import TestSupport
import Testing

@Suite("6 Reactors", .timeLimit(.minutes(30))) struct ReactorTests {
  /// Fails until a token was refreshed.
  private final class Server: Sendable {
    let token = Locked(0)
    let refreshes = Locked(0)

    func call(_ valid: Int = 1) -> Scripted<Int> {
      Scripted { [self] _ in
        let used = token.current
        return SimpleOperation { operation in
          if used >= valid { operation.finish(with: used) } else { operation.reject(with: TestError("expired")) }
        }
      }
    }
  }

  @Test func requeue_manyOfOneKey_oneReaction() async throws {
    let server = Server()
    let manager = OperationManager(
      reactors: [
        .reacting(when: { outcome, _ in outcome.error is TestError }) { _ in
          server.refreshes.increment()
          server.token.withLock { $0 = 1 }
          return .requeue()
        }
      ], clock: ManualClock())
    manager.isSuspended = true
    let group = manager.add(contentsOf: (0..<100).map { _ in server.call() })
    manager.isSuspended = false
    let outcomes = try await group.value
    #expect(outcomes.compactMap(\.value) == Array(repeating: 1, count: 100))
  }

  @Test func requeue_lateFailuresOfAnOlderStart_noFurtherReaction() async throws {
    let reactions = Locked(0)
    let late = HeldOperation<Int>()
    let manager = OperationManager(
      reactors: [
        .reacting(when: { outcome, _ in outcome.error is TestError }) { _ in
          reactions.increment()
          return .requeue()
        }
      ], clock: ManualClock())
    let lateHandle = manager.add(Scripted { $0 == 1 ? late : succeeding(2) })
    await late.started.wait()
    #expect(try await manager.run(Scripted { $0 == 1 ? failing(TestError("early")) : succeeding(1) }) == 1)
    late.reject(with: TestError("late"))
    #expect(try await lateHandle.value == 2)
    #expect(reactions.current == 1)
  }

  @Test func requeue_budgetSpent_theLastOutcomeStands() async {
    let attempts = Locked(0)
    let manager = OperationManager(
      reactors: [
        .reacting(
          configuration: ReactorConfiguration(maxRequeues: 2), when: { outcome, _ in outcome.error != nil }
        ) { _ in .requeue() }
      ], clock: ManualClock())
    let handle = manager.add(
      Scripted<Int> { attempt in
        attempts.withLock { $0 = attempt }
        return failing(TestError("\(attempt)"))
      })
    #expect(await settled(handle).error as? TestError == TestError("3"))
    #expect(attempts.current == 3)
  }

  @Test func react_throws_failsWithBothErrors() async {
    let manager = OperationManager(
      reactors: [
        .reacting(when: { outcome, _ in outcome.error != nil }) { _ in throw TestError("reactor") }
      ], clock: ManualClock())
    let error = managedError(await settled(manager.add(Scripted<Int> { _ in failing(TestError("work")) })))
    #expect(error?.code == .reactionFailed)
    #expect(error?.cause as? TestError == TestError("reactor"))
    #expect(error?.original as? TestError == TestError("work"))
  }

  @Test func react_neverAnswers_failsAfterItsTimeout() async {
    let clock = ManualClock()
    let reacting = Gate()
    let manager = OperationManager(
      reactors: [
        .reacting(
          configuration: ReactorConfiguration(timeout: .seconds(7)), when: { outcome, _ in outcome.error != nil }
        ) { _ in
          reacting.open()
          await Gate().wait()
          return .deliver
        }
      ], clock: clock)
    let handle = manager.add(Scripted<Int> { _ in failing(TestError("work")) })
    await reacting.wait()
    #expect(handle.state == .reacting)
    await clock.waitForSleeper(dueIn: .seconds(7))
    clock.advance(by: .seconds(7))
    let error = managedError(await settled(handle))
    #expect(error?.code == .reactionTimedOut)
    #expect(error?.errorDescription?.contains("run that in another one") == true)
    await manager.waitUntilIdle()
  }

  @Test func retry_policy_decides() async throws {
    let clock = ManualClock()
    let manager = OperationManager(
      reactors: [.retrying(RetryPolicy(maxAttempts: 3, backoff: .constant(.seconds(2)), jitter: .none))],
      clock: clock)
    let handle = manager.add(Scripted<Int> { $0 < 3 ? failing(TestError("\($0)")) : succeeding($0) })
    for _ in 0..<2 {
      await clock.waitForSleeper(dueIn: .seconds(2))
      clock.advance(by: .seconds(2))
    }
    #expect(try await handle.value == 3)
  }

  @Test func retry_retryAfter_isHonoured() async throws {
    let clock = ManualClock()
    let manager = OperationManager(
      reactors: [.retrying(RetryPolicy(maxAttempts: 2, backoff: .constant(.seconds(2)), jitter: .none))],
      clock: clock)
    let handle = manager.add(
      Scripted<Int> { $0 == 1 ? failing(HTTPStatusError(status: 503, headers: ["Retry-After": "30"])) : succeeding($0) }
    )
    await clock.waitForSleeper(dueIn: .seconds(30))
    #expect(handle.state == .delayed)
    clock.advance(by: .seconds(30))
    #expect(try await handle.value == 2)
  }

  @Test func retry_retryAfterOfAnotherZone_isLeftToThePolicy() async throws {
    let clock = ManualClock()
    let manager = OperationManager(
      reactors: [.retrying(RetryPolicy(maxAttempts: 2, backoff: .constant(.seconds(2)), jitter: .none))],
      clock: clock)
    let headers: HTTPHeaders = [
      "Date": "Sun, 06 Nov 1994 08:49:37 GMT", "Retry-After": "Sun, 06 Nov 1994 09:50:07 +0100",
    ]
    let handle = manager.add(
      Scripted<Int> { $0 == 1 ? failing(HTTPStatusError(status: 503, headers: headers)) : succeeding($0) })
    await clock.waitForSleeper(dueIn: .seconds(2))
    clock.advance(by: .seconds(2))
    #expect(try await handle.value == 2)
  }

  @Test func reintercept_onRequeue_asksAgain() async throws {
    let asked = Locked(0)
    for reintercepts in [false, true] {
      asked.withLock { $0 = 0 }
      let manager = OperationManager(
        interceptors: [
          .intercepting { _, _ in
            asked.increment()
            return .execute
          }
        ],
        reactors: [
          .reacting(
            configuration: ReactorConfiguration(reinterceptsOnRequeue: reintercepts),
            when: { outcome, _ in outcome.error != nil }
          ) { _ in .requeue() }
        ], clock: ManualClock())
      #expect(try await manager.run(Scripted { $0 == 1 ? failing(TestError.first) : succeeding($0) }) == 2)
      #expect(asked.current == (reintercepts ? 2 : 1))
    }
  }

  @Test("Tasks that wait while a reaction outdates them are asked about again, but neither held nor counted again")
  func reintercept_waiting_asksThoseWhoChangeTasks() async throws {
    let token = Locked(1)
    let used = EventRecorder<Int>()
    let clock = ManualClock()
    let manager = OperationManager(
      interceptors: [
        .batch(maxCount: 4), .rateLimit(tokens: 4, per: .seconds(60), clock: clock),
        .intercepting(Number.self) { task, _ in
          task.number = token.current
          return .execute
        },
      ],
      reactors: [
        .reacting(
          to: Number.self, configuration: ReactorConfiguration(suspendsQueue: true, reinterceptsOnRequeue: true),
          when: { outcome, _ in outcome.value == 1 }
        ) { _ in
          token.withLock { $0 = 2 }
          return .requeue()
        }
      ], clock: ManualClock())
    manager.maxConcurrentOperationCount = 1
    manager.isSuspended = true
    let handles = (0..<4).map { _ in manager.add(Number(0, recorder: used)) }
    await until(handles.allSatisfy { $0.state == .queued })
    manager.isSuspended = false
    for handle in handles[1...] { #expect(try await handle.value == 2) }
    // The one that was refused is intercepted as a new one is: the batch holds it.
    await until(manager.heldTaskCount != 0)
    #expect(manager.releaseHeldTasks() == 1)
    #expect(try await handles[0].value == 2)
    #expect(used.events == [1, 2, 2, 2, 2])
  }

  @Test func refusedAfterTheReaction_behindARateLimit_isReactedTo() async throws {
    let reactions = Locked(0)
    let manager = OperationManager(
      interceptors: [.rateLimit(tokens: 100, per: .seconds(1), clock: ManualClock())],
      reactors: [
        .reacting(
          configuration: ReactorConfiguration(suspendsQueue: true, reinterceptsOnRequeue: true, maxRequeues: 1),
          when: { outcome, _ in outcome.error is TestError }
        ) { _ in
          reactions.increment()
          return .requeue()
        }
      ], clock: ManualClock())
    manager.maxConcurrentOperationCount = 1
    manager.isSuspended = true
    let handles = [1, 2].map { needed in
      manager.add(Scripted<Int> { _ in reactions.current < needed ? failing(TestError.first) : succeeding(needed) })
    }
    await until(handles.allSatisfy { $0.state == .queued })
    manager.isSuspended = false
    #expect(try await handles[0].value == 1)
    #expect(try await handles[1].value == 2)
    #expect(reactions.current == 2)
  }

  @Test func suspendingReactorDeclines_completionWaitsForTheNext_isNotStuck() async {
    let second = Gate()
    let adding = Locked<OperationManager?>(nil)
    let manager = OperationManager(
      reactors: [
        .reacting(
          configuration: ReactorConfiguration(suspendsQueue: true),
          when: { outcome, _ in
            if outcome.error != nil { adding.current?.add(AnyManagedTask<Void> { second.open() }) }
            return false
          }
        ) { _ in .deliver }
      ], clock: ManualClock())
    adding.withLock { $0 = manager }
    let isSeen = EventRecorder<Bool>()
    let first = manager.add(Scripted<Int> { _ in failing(TestError.first) }, startImmediately: false)
    first.completion = { _ in isSeen.record(Patience.isReached { second.isOpen }) }
    first.start()
    await isSeen.wait(forCount: 1)
    #expect(isSeen.events == [true])
    adding.withLock { $0 = nil }
    await manager.waitUntilIdle()
  }

  @Test func cancel_reacting_settlesAtOnceAndCancelsAReactionOfItsOwn() async {
    for key in [nil, "shared"] as [String?] {
      let (reacting, ended) = (Gate(), Gate())
      let wasCancelled = Locked<Bool?>(nil)
      let answer = Gate()
      let manager = OperationManager(
        reactors: [
          .reacting(key: { _ in key }, when: { outcome, _ in outcome.error != nil }) { _ in
            reacting.open()
            do { try await answer.waitUnlessCancelled() } catch {}
            wasCancelled.withLock { $0 = Task.isCancelled }
            ended.open()
            return .deliver
          }
        ], clock: ManualClock())
      let handle = manager.add(Scripted<Int> { _ in failing(TestError.first) })
      await reacting.wait()
      handle.cancel()
      #expect(handle.outcome?.isCancelled == true)
      if key != nil { answer.open() }
      await ended.wait()
      #expect(wasCancelled.current == (key == nil))
      await manager.waitUntilIdle()
    }
  }
}
