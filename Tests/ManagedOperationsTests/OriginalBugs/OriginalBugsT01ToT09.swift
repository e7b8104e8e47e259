import CompositeOperations
import Foundation
import ManagedOperations
import TestSupport
import Testing

/// What was wrong in Tasker, and is right here: by the numbers of the list.
@Suite("6 Bugs T1 to T9 of the original", .timeLimit(.minutes(30)))
struct OriginalBugsT01ToT09 {
  @Test("T1 Waiting for the end misses nothing: not what is held, delayed or reacted to, and no completion")
  func t01_waitUntilIdle_waitsForEverything() async {
    for _ in 0..<50 {
      let completions = Locked(0)
      let reactions = Locked(0)
      let manager = OperationManager(
        interceptors: [.batch(maxCount: 10)],
        reactors: [
          .reacting(
            configuration: ReactorConfiguration(timeout: nil), when: { outcome, _ in outcome.error != nil }
          ) { _ in
            reactions.increment()
            return .requeue(after: .microseconds(10))
          }
        ])
      for _ in 0..<20 {
        let handle = manager.add(
          Scripted { $0 == 1 ? failing(TestError.first) : succeeding(1) }, startImmediately: false,
          after: .microseconds(10))
        handle.completion = { _ in completions.increment() }
        handle.start()
      }
      await manager.waitUntilIdle()
      #expect(completions.current == 20)
      #expect(reactions.current > 0)
    }
  }

  @Test("T2 Every callback may use the manager, and read and cancel every handle")
  func t02_callbacksAreReentrant() async {
    let known = Locked<OperationHandle<Int>?>(nil)
    let managerBox = Locked<OperationManager?>(nil)
    let states = EventRecorder<ManagedTaskState>()
    let touch: @Sendable () -> Void = {
      guard let handle = known.current, let manager = managerBox.current else { return }
      states.record(handle.state)
      _ = manager.heldTaskCount
      manager.add(Number(1), startImmediately: false).cancel()
      handle.start()
    }
    let manager = OperationManager(
      interceptors: [
        .intercepting(Scripted<Int>.self) { _, _ in
          touch()
          return .execute
        }
      ],
      reactors: [
        .reacting(
          to: Scripted<Int>.self,
          when: { outcome, _ in
            touch()
            return outcome.error != nil
          }
        ) { _ in
          touch()
          return .requeue()
        }
      ], clock: ManualClock())
    managerBox.withLock { $0 = manager }
    let handle = manager.add(
      Scripted { attempt in
        touch()
        return attempt == 1 ? failing(TestError.first) : succeeding(attempt)
      }, startImmediately: false)
    known.withLock { $0 = handle }
    let done = Gate()
    handle.completion = { _ in
      touch()
      known.current?.cancel()
      done.open()
    }
    handle.start()
    await done.wait()
    await manager.waitUntilIdle()
    #expect(handle.outcome?.value == 2)
    for state in [ManagedTaskState.intercepting, .executing, .reacting, .finished] { #expect(states.contains(state)) }
    known.withLock { $0 = nil }
    managerBox.withLock { $0 = nil }
  }

  @Test("T2 A task may be cancelled from inside of its interceptor, its reactor and its own body")
  func t02_cancelFromInside_settles() async {
    let known = Locked<OperationHandle<Int>?>(nil)
    for place in ["interceptor", "shouldReact", "react", "body"] {
      let manager = OperationManager(
        interceptors: [
          .intercepting { _, _ in
            if place == "interceptor" { known.current?.cancel() }
            return .execute
          }
        ],
        reactors: [
          .reacting(when: { outcome, _ in
            if place == "shouldReact" { known.current?.cancel() }
            return true
          }) { _ in
            if place == "react" { known.current?.cancel() }
            return .requeue()
          }
        ], clock: ManualClock())
      let handle = manager.add(
        Scripted<Int> { _ in
          SimpleOperation { operation in
            if place == "body" { known.current?.cancel() }
            operation.finish(with: 1)
          }
        }, startImmediately: false)
      known.withLock { $0 = handle }
      handle.start()
      #expect(await settled(handle).isCancelled, "\(place)")
      await manager.waitUntilIdle()
    }
    known.withLock { $0 = nil }
  }

  @Test("T3 A slow interceptor blocks neither adding nor cancelling nor looking")
  func t03_slowInterceptor_blocksNoCaller() async {
    let asked = Gate()
    let answers = Gate()
    let manager = OperationManager(
      interceptors: [
        .intercepting(Number.self, timeout: nil) { _, _ in
          asked.open()
          await answers.wait()
          return .execute
        }
      ], clock: ManualClock())
    let slow = manager.add(Number(1))
    await asked.wait()
    let waiting = manager.add(Number(2))
    #expect(slow.state == .intercepting && waiting.state == .intercepting)
    waiting.cancel()
    #expect(waiting.outcome?.isCancelled == true)
    slow.cancel()
    #expect(slow.outcome?.isCancelled == true)
    answers.open()
    await manager.waitUntilIdle()
  }

  @Test("T4 Completions come in one way, whatever the outcome: on the thread that settled, under no lock, once")
  func t04_completionsAreAlike() async {
    let manager = OperationManager(
      interceptors: [
        .intercepting(Number.self) { task, _ in task.number < 0 ? .discard : .execute }
      ], clock: ManualClock())
    for handle in [
      manager.add(Number(1), startImmediately: false), manager.add(Number(-1), startImmediately: false),
      manager.add(Number(2), startImmediately: false),
    ] {
      let spy = CompletionSpy<Int>()
      let readable = Locked<Bool?>(nil)
      handle.completion = { [weak handle] outcome in
        readable.withLock { $0 = handle?.outcome != nil && handle?.isFinished == false }
        spy.completion(outcome)
      }
      if handle.id % 3 == 0 { handle.cancel() } else { handle.start() }
      _ = await spy.first()
      #expect(spy.count == 1)
      #expect(readable.current == true)
    }
    await manager.waitUntilIdle()
  }

  @Test("T5 Handles and their operations keep to dependencies, and finish once")
  func t05_dependenciesAreKept() async {
    let manager = OperationManager(clock: ManualClock())
    let queue = OperationQueue()
    let recorder = EventRecorder<Int>()
    let first = manager.add(Number(1, recorder: recorder), startImmediately: false)
    let second = manager.add(Number(2, recorder: recorder), startImmediately: false)
    second.addDependency(first)
    queue.add([second, first])
    _ = await settled(second)
    #expect(recorder.events == [1, 2])
  }

  @Test("T6 When the manager is released, every handle settles")
  func t06_releasedManager_everyHandleSettles() async {
    let clock = ManualClock()
    let reacting = Gate()
    var manager: OperationManager? = OperationManager(
      interceptors: [.intercepting(Number.self) { _, _ in .hold }],
      reactors: [
        .reacting(when: { _, _ in true }) { _ in
          reacting.open()
          try await Gate().waitUnlessCancelled()
          return .deliver
        }
      ], clock: clock)
    let delayed = manager!.add(AnyManagedTask { 1 }, after: .seconds(5))
    let held = manager!.add(Number(1))
    let reacted = manager!.add(AnyManagedTask { 1 })
    let pending = manager!.add(Number(2), startImmediately: false)
    await reacting.wait()
    manager = nil
    for handle in [delayed, held, reacted, pending] {
      let error = managedError(await settled(handle))
      #expect(error?.code == .managerReleased)
      #expect(error?.taskID == handle.id)
    }
  }

  @Test("T7 An interceptor cannot change the type of a task, and a result is the task's own")
  func t07_typesAreKept() async throws {
    let manager = OperationManager(
      interceptors: [
        .intercepting(AnyManagedTask<Int>.self) { task, _ in
          task = AnyManagedTask { 7 }
          return .execute
        }
      ], clock: ManualClock())
    #expect(try await manager.run(AnyManagedTask { 1 }) == 7)
    #expect(try await manager.run(AnyManagedTask { "text" }) == "text")
  }

  @Test("T8 A timeout and an end at the same time are one outcome, and the timer is given up")
  func t08_timeoutAndEnd_oneOutcome() async {
    for round in 0..<100 {
      let clock = ManualClock()
      let manager = OperationManager(clock: clock)
      let operation = HeldOperation<Int>(settlesWhenCancelled: true)
      let spy = CompletionSpy<Int>()
      let handle = manager.add(
        AnyManagedTask(makeOperation: { operation }), startImmediately: false, timeout: .seconds(1))
      handle.completion = spy.completion
      handle.start()
      await operation.started.wait()
      await clock.waitForSleeper(dueIn: .seconds(1))
      DispatchQueue.global().async { clock.advance(by: .seconds(1)) }
      if round % 2 == 0 { DispatchQueue.global().async { operation.finish(with: 1) } }
      let outcome = await settled(handle)
      await manager.waitUntilIdle()
      #expect(outcome.value == 1 || managedError(outcome)?.code == .timedOut)
      #expect(spy.count == 1)
    }
  }

  @Test("T9 A requeued task waits for its own reaction alone, and goes before newer ones")
  func t09_requeued_goesFirst() async {
    let recorder = EventRecorder<Int>()
    let slowReaction = Gate()
    let slowIsReacting = Gate()
    let react = Gate()
    let manager = OperationManager(
      reactors: [
        .reacting(when: { outcome, _ in outcome.error as? TestError == .first }) { _ in
          slowIsReacting.open()
          await slowReaction.wait()
          return .deliver
        },
        .reacting(
          configuration: ReactorConfiguration(suspendsQueue: true),
          when: { outcome, _ in outcome.error as? TestError == .second }
        ) { _ in
          await react.wait()
          return .requeue()
        },
      ], clock: ManualClock())
    manager.maxConcurrentOperationCount = 1
    let slow = manager.add(Scripted<Int> { _ in failing(TestError.first) })
    await slowIsReacting.wait()
    let requeued = manager.add(
      Scripted<Int> { attempt in
        guard attempt > 1 else { return failing(TestError.second) }
        recorder.record(1)
        return succeeding(1)
      })
    await until(requeued.state == .reacting)
    for number in 2..<5 { manager.add(Number(number, recorder: recorder)) }
    #expect(recorder.events == [])
    react.open()
    await recorder.wait(forCount: 4)
    #expect(recorder.events == [1, 2, 3, 4])
    #expect(slow.state == .reacting)
    slowReaction.open()
    await manager.waitUntilIdle()
  }
}
