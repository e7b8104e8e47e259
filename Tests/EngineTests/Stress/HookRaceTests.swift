import CompositeOperations
import Foundation
import TestSupport
import Testing

/// Closures that are set, and waiters that attach, while their event happens.
@Suite(.serialized)
struct HookRaceTests {
  private static let rounds = Scale.count(12_000, least: 100)

  @Test func completionSetter_whileSettling_isCalledOnce() async {
    let complaints = await Race.run(rounds: HookRaceTests.rounds, threads: 2) { _, _ in
      let operation = SimpleOperation<Int>()
      let calls = Locked(0)
      return Race.Round(bodies: [
        { operation.finish(with: 1) }, { operation.completion = { _ in calls.increment() } },
      ]) {
        complaint(
          "\(calls.current) calls", unless: calls.current == 1 && operation.isFinished && operation.completion == nil)
      }
    }
    #expect(complaints.isEmpty)
  }

  @Test func completionSetters_replacingEachOther_areCalledAtMostOnceEach() async {
    let complaints = await Race.run(rounds: HookRaceTests.rounds, threads: 3) { _, _ in
      let operation = SimpleOperation<Int>()
      let first = Locked(0)
      let second = Locked(0)
      return Race.Round(bodies: [
        { operation.completion = { _ in first.increment() } }, { operation.reject(with: TestError.first) },
        { operation.completion = { _ in second.increment() } },
      ]) {
        let counts = (first.current, second.current)
        // A closure replaced before the end is not called; the one set at the end, or later, is.
        return complaint("\(counts) calls", unless: counts.0 <= 1 && counts.1 <= 1 && counts.0 + counts.1 >= 1)
      }
    }
    #expect(complaints.isEmpty)
  }

  @Test func onCancelSetter_whileCancelling_isCalledOnce() async {
    let complaints = await Race.run(rounds: HookRaceTests.rounds, threads: 2) { _, _ in
      let operation = SimpleOperation<Int> { _ in }
      let calls = Locked(0)
      operation.start()
      return Race.Round(bodies: [{ operation.cancel() }, { operation.onCancel = { calls.increment() } }]) {
        operation.finish(with: 1)
        let isCancelled = operation.outcome?.isCancelled == true
        return complaint("\(calls.current) calls", unless: calls.current == 1 && isCancelled)
      }
    }
    #expect(complaints.isEmpty)
  }

  @Test func onCancel_cancelledFromThreeThreads_isCalledOnce() async {
    let complaints = await Race.run(rounds: HookRaceTests.rounds, threads: 3) { _, _ in
      let operation = SimpleOperation<Int> { _ in }
      let calls = Locked(0)
      operation.onCancel = { calls.increment() }
      operation.start()
      return Race.Round(bodies: Array(repeating: { operation.cancel() }, count: 3)) {
        operation.finish(with: 1)
        return complaint("\(calls.current) calls", unless: calls.current == 1)
      }
    }
    #expect(complaints.isEmpty)
  }

  @Test func value_awaitedWhileSettling_isTold() async {
    let waiters = Locked<[Task<Int?, Never>]>([])
    _ = await Race.run(rounds: HookRaceTests.rounds, threads: 2) { round, _ in
      let operation = SimpleOperation<Int>()
      let waiter = Task.detached { try? await operation.value }
      waiters.withLock { $0.append(waiter) }
      return Race.Round(bodies: [{ operation.finish(with: round) }]) { nil }
    }
    for (round, waiter) in waiters.current.enumerated() { #expect(await waiter.value == round) }
  }

  @Test func run_byManyTasksOfWhichSomeAreCancelled_endsForAll() async {
    for _ in 0..<Scale.count(1_500, least: 50) {
      let bodies = Locked(0)
      let operation = SimpleOperation<Int> { operation in
        bodies.increment()
        DispatchQueue.global().async { operation.finish(with: 1) }
      }
      let tasks = (0..<4).map { _ in Task.detached { try await operation.run() } }
      tasks[0].cancel()
      var values: [Int?] = []
      for task in tasks { values.append(try? await task.value) }
      let outcome = operation.outcome
      #expect(bodies.current <= 1 && outcome != nil)
      #expect(values.allSatisfy { $0 == outcome?.value }, "\(values) of \(String(describing: outcome))")
    }
  }

  @Test func upstream_startedByTwoWrappersAtOnce_runsOnceForBoth() async {
    let all = Locked<[(SimpleOperation<Int>, SimpleOperation<Int>, Locked<Int>)]>([])
    _ = await Race.run(rounds: HookRaceTests.rounds, threads: 2) { _, random in
      let bodies = Locked(0)
      let hops = random.chance(50)
      let upstream = SimpleOperation<Int> { operation in
        bodies.increment()
        if hops { DispatchQueue.global().async { operation.finish(with: 1) } } else { operation.finish(with: 1) }
      }
      let first = upstream.map { $0 + 1 }
      let second = upstream.map { $0 + 2 }
      all.withLock { $0.append((first, second, bodies)) }
      return Race.Round(bodies: [{ first.start() }, { second.start() }]) { nil }
    }
    for (first, second, bodies) in all.current {
      let values = (await settled(first).value, await settled(second).value)
      #expect(values == (2, 3) && bodies.current == 1)
    }
  }
}
