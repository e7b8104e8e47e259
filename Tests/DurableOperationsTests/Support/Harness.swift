import CompositeOperations
import CompositeOperationsTestKit
import Foundation
import TestSupport

@testable import DurableOperations

/// A queue in memory, or in a file, whose time the test moves.
struct Harness {
  let clock: ManualClock
  let start = Date(timeIntervalSince1970: 1_800_000_000)
  let queue: DurableQueue

  init(
    _ location: DurableQueue.Location = .memory, clock: ManualClock = ManualClock(),
    _ change: (inout DurableQueue.Configuration) -> Void = { _ in }
  ) throws {
    self.clock = clock
    var configuration = DurableQueue.Configuration()
    configuration.clock = JobClock(clock, startingAt: start)
    configuration.busyTimeout = .seconds(60)
    change(&configuration)
    queue = try DurableQueue(location: location, configuration: configuration)
  }

  /// Waits until a job is in a state, and moves the time then.
  func advance(by duration: Duration, when state: JobState, of id: JobID) async {
    await wait(for: state, of: id)
    let before = attempt(of: id)
    clock.advance(by: duration)
    // Not until it is in another state: it may be in the same again by then.
    var turns = Turns()
    while attempt(of: id) == before, !Task.isCancelled {
      // The alarm may have been set only after the time was moved.
      clock.advance(by: .milliseconds(1))
      await turns.next()
    }
  }

  private func attempt(of id: JobID) -> [AnyHashable?] {
    let record = try? queue.job(id)
    return [record?.state, record?.attempts, record?.startedAt]
  }

  /// Moves the time, and then on from look to look, until a job is in a state.
  func advance(by duration: Duration, until state: JobState, of id: JobID) async {
    clock.advance(by: duration)
    while (try? await queue.job(id)?.state) != state, !Task.isCancelled {
      // The alarm may have been set only after the time was moved. A queue that does not poll has
      // none when the job is done.
      await until(await isAwaited(state, of: id))
      clock.advance(by: .seconds(1))
      for _ in 0..<20 where (try? await queue.job(id)?.state) != state { await Task.yield() }
    }
  }

  private func isAwaited(_ state: JobState, of id: JobID) async -> Bool {
    if clock.nextDeadline != nil { return true }
    return (try? await queue.job(id)?.state) == state
  }

  /// Waits until a job is in a state.
  func wait(for state: JobState, of id: JobID) async {
    await until((try? await queue.job(id)?.state) == state)
  }
}

extension DurableQueue {
  /// A queue on a file that waits for others as long as it takes on a busy machine.
  static func patient(_ file: URL) throws -> DurableQueue {
    var configuration = Configuration()
    configuration.busyTimeout = .seconds(60)
    return try DurableQueue(location: .file(file), configuration: configuration)
  }

  /// Waits until a task waits for the database to show something.
  func hasWaiter() async {
    await until(!core.withLock { $0.waiters.isEmpty })
  }

  /// Waits until what the queue does is as it is to be.
  func hasPumped(_ condition: (RunnerState) -> Bool) async {
    await until(core.withLock { condition($0.state) })
  }

  /// Waits until the rounds and looks that are under way are over.
  func hasNothingUnderWay() async {
    await withCheckedContinuation { continuation in core.database.async { _ in continuation.resume() } }
  }

  /// Waits until the queue has looked around at the time that its clock shows.
  func hasLookedAround() async {
    let timekeeper = core.clock.timekeeper
    await until(!core.withLock({ $0.alarm.map { $0.time <= timekeeper.now } ?? true }))
  }
}

/// How many were inside at once, at most.
final class Peak: Sendable {
  private let counts = LockBox((now: 0, peak: 0))

  func enter() {
    counts.withLock { counts in
      counts.now += 1
      counts.peak = max(counts.peak, counts.now)
    }
  }

  func leave() { counts.withLock { $0.now -= 1 } }

  var peak: Int { counts.withLock(\.peak) }
}

/// Something that happens once.
final class Flag: Sendable {
  private let flag = LockBox(false)

  var isSet: Bool { flag.withLock { $0 } }

  func set() { flag.withLock { $0 = true } }
}

/// Contexts that are kept after their attempts.
final class Contexts: Sendable {
  private let contexts = LockBox<[JobContext]>([])

  var all: [JobContext] { contexts.withLock { $0 } }

  func add(_ context: JobContext) { contexts.withLock { $0.append(context) } }
}

/// Numbers that grow each time one is asked for.
final class Contested: Sendable {
  private let number = LockBox(0.0)

  func next() -> Double {
    number.withLock { number in
      number += 1
      return number
    }
  }
}
