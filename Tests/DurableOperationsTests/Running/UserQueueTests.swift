import CompositeOperations
import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// DUR-2: jobs whose operations run in a queue of the user are claimed when that queue has a slot
/// for them.
@Suite(.timeLimit(.minutes(30))) struct UserQueueTests {
  private func harness(_ queue: OperationQueue, _ location: DurableQueue.Location) throws -> Harness {
    try Harness(location) { $0.operationQueue = queue }
  }

  private func narrow(_ limit: Int = 1) -> OperationQueue {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = limit
    return queue
  }

  /// Waits until the queue holds so many operations.
  private func wait(for count: Int, in queue: OperationQueue) async {
    await until(queue.operationCount == count)
  }

  @Test(arguments: Engine.available) func slotIsTaken_nothingIsClaimed_andWhatWaitsCanBeCancelledAndStopped(
    on engine: Engine
  ) async throws {
    let operations = narrow(), release = Gate()
    operations.addOperation(SimpleOperation<Void> { operation in release.whenOpen { operation.finish() } })
    let queue = try harness(operations, engine.location()).queue
    try await queue.register(Count.self) { _, _ async throws in }
    let ids = try await queue.enqueue(contentsOf: (0..<4).map { Count(number: $0) })
    let events = queue.events()
    queue.start()
    await wait(for: 5, in: operations)
    #expect(try await queue.counts()[.executing] == 0)
    try await queue.cancel(ids[0])
    #expect(try await queue.job(ids[0])?.state == .cancelled)
    // Though the slot is never free.
    await queue.stop(grace: .zero)
    #expect(try await queue.counts()[.waiting] == 3)
    queue.start()
    release.open()
    try await queue.waitUntilIdle()
    #expect(try await queue.counts()[.done] == 3)
    await queue.stop()
    await wait(for: 0, in: operations)
    var started = 0
    for await event in events {
      if event.kind == .started { started += 1 }
      if started == 3 { break }
    }
  }

  @Test(arguments: Engine.available) func queueIsSuspended_nothingIsClaimed_stopReturns_andThePlacesLeave(
    on engine: Engine
  ) async throws {
    let operations = narrow(3)
    operations.isSuspended = true
    let queue = try harness(operations, engine.location()).queue
    try await queue.register(Count.self) { _, _ async throws in }
    try await queue.enqueue(contentsOf: (0..<4).map { Count(number: $0) })
    queue.start()
    await wait(for: 4, in: operations)
    #expect(try await queue.counts()[.waiting] == 4)
    await queue.stop(grace: .zero)
    operations.isSuspended = false
    await wait(for: 0, in: operations)
    #expect(try await queue.counts()[.waiting] == 4)
  }

  @Test func oneRuns_othersAreLeftToOtherProcesses_andOneCrashIsCharged() async throws {
    try await withDatabaseFile { file in
      let started = Gate(), release = Gate()
      let first = try harness(narrow(), .file(file)), second = try Harness(.file(file))
      try await first.queue.register(Count.self) { _, _ async throws in
        started.open()
        await release.wait()
      }
      try await second.queue.register(Count.self) { _, _ async throws in }
      let ids = try await first.queue.enqueue(contentsOf: (0..<4).map { Count(number: $0) })
      first.queue.start()
      await started.wait()
      second.queue.start()
      for id in ids[1...] { _ = try await second.queue.waitUntilSettled(id) }
      #expect(try await first.queue.counts()[.executing] == 1)
      // What would be charged with a crash, had this process ended.
      #expect(try await first.queue.job(ids[0])?.state == .executing)
      release.open()
      await first.queue.stop()
      await second.queue.stop()
      #expect(try await first.queue.counts()[.done] == 4)
    }
  }

  @Test(arguments: Engine.available) func queueIsSuspended_betweenThePlaceAndTheClaim_nothingIsClaimed(
    on engine: Engine
  ) async throws {
    try await withDatabaseFile { file in
      let operations = narrow()
      operations.isSuspended = true
      let queue = try harness(operations, .file(file)).queue
      try await queue.register(Count.self) { _, _ async throws in }
      try await queue.enqueue(Count(number: 1))
      queue.start()
      await wait(for: 1, in: operations)
      let place = try #require(operations.operations.first)
      // The round waits for another program when the place is there.
      let other = try Connection(path: file.path, busyTimeout: .zero, mustExist: true)
      await until((try? other.execute("BEGIN IMMEDIATE")) != nil)
      operations.isSuspended = false
      await until(place.isExecuting)
      operations.isSuspended = true
      try other.execute("ROLLBACK")
      await until(place.isFinished)
      // It has made room for one that waits.
      await wait(for: 1, in: operations)
      #expect(try await queue.counts()[.waiting] == 1)
      #expect(try other.execute("SELECT claim FROM durable_jobs")[0].values == [.integer(0)])
      operations.isSuspended = false
      try await queue.waitUntilIdle()
      await queue.stop()
    }
  }

  /// A job that was claimed in the moment in which the user's queue was suspended.
  private func claimedTooLate(on engine: Engine, looks: Int = .max) async throws -> (
    Harness, SuspendedBehindTheBack, JobID
  ) {
    let operations = SuspendedBehindTheBack(looks: looks)
    let harness = try Harness(engine.location(listens: false)) {
      $0.operationQueue = operations
      // Otherwise there would be a further round, with a look of its own, when it says that there
      // is a network.
      $0.networkMonitor = ManualReachabilityMonitor(isReachable: false)
    }
    try await harness.queue.register(Count.self) { _, _ in
      Issue.record("It was made though it was interrupted before")
      return BlockOperation {}
    }
    let id = try await harness.queue.enqueue(Count(number: 1), options: JobOptions(maxAttempts: 1))
    harness.queue.start()
    return (harness, operations, id)
  }

  @Test(arguments: Engine.available) func queueIsSuspended_afterTheClaim_jobIsCancelled_atOnce(on engine: Engine)
    async throws
  {
    let (harness, operations, id) = try await claimedTooLate(on: engine)
    await harness.wait(for: .executing, of: id)
    try await harness.queue.cancel(id)
    #expect(try await harness.queue.waitUntilSettled(id)?.state == .cancelled)
    await harness.queue.stop(grace: .zero)
    operations.isSuspended = false
    await wait(for: 0, in: operations)
  }

  @Test(arguments: Engine.available, [Duration.zero, .seconds(1000)])
  func queueIsSuspended_afterTheClaim_stopReturns_andTheJobWaits(on engine: Engine, grace: Duration) async throws {
    let (harness, operations, id) = try await claimedTooLate(on: engine)
    await harness.wait(for: .executing, of: id)
    operations.looksLeft.withLock { $0 = 0 }
    await harness.queue.stop(grace: grace)
    #expect(try await harness.queue.job(id)?.state == .waiting)
    operations.isSuspended = false
    await wait(for: 0, in: operations)
    #expect(try await harness.queue.job(id)?.attempts == 0)
  }

  @Test(arguments: Engine.available) func queueIsSuspended_afterTheClaim_andItsOperationsAreCancelled_jobIsNotCharged(
    on engine: Engine
  ) async throws {
    let (harness, operations, id) = try await claimedTooLate(on: engine)
    await harness.wait(for: .executing, of: id)
    operations.looksLeft.withLock { $0 = 0 }
    operations.cancelAllOperations()
    await harness.wait(for: .waiting, of: id)
    #expect(try await harness.queue.job(id)?.attempts == 0)
    await harness.queue.stop()
  }

  @Test(arguments: Engine.available) func queueIsSuspended_afterTheClaim_durableQueueIsSuspended_andNothingStaysBehind(
    on engine: Engine
  ) async throws {
    let (harness, operations, id) = try await claimedTooLate(on: engine)
    await harness.wait(for: .executing, of: id)
    operations.looksLeft.withLock { $0 = 0 }
    await harness.queue.suspend()
    await until(harness.queue.core.withLock { $0.executions.isEmpty })
    harness.queue.resume()
    await harness.wait(for: .waiting, of: id)
    await harness.queue.stop()
  }

  /// At once, or when it looks around.
  @Test(arguments: Engine.available, [1, 2]) func queueIsSuspended_afterTheClaim_jobIsLeftToOthers(
    on engine: Engine, looks: Int
  ) async throws {
    let (harness, operations, id) = try await claimedTooLate(on: engine, looks: looks)
    await until(operations.looksLeft.withLock { $0 == 0 })
    if looks == 2 {
      await harness.wait(for: .executing, of: id)
      await harness.clock.waitForSleeper()
      // On a server a look may come a fifth later than in the usual second.
      harness.clock.advance(by: .seconds(2))
    }
    await harness.wait(for: .waiting, of: id)
    #expect(try await harness.queue.job(id)?.attempts == 0)
    await harness.queue.stop()
  }

  @Test(arguments: Engine.available) func manyJobs_runAtTheLimitOfTheQueue_withForeignOperationsBetween(
    on engine: Engine
  ) async throws {
    let operations = narrow(2), peak = Peak(), foreign = EventRecorder<Int>()
    let queue = try harness(operations, engine.location()).queue
    try await queue.register(Count.self) { _, _ in
      BlockOperation {
        peak.enter()
        peak.leave()
      }
    }
    queue.start()
    async let jobs = queue.enqueue(contentsOf: (0..<200).map { Count(number: $0) })
    for number in 0..<200 {
      operations.addOperation {
        peak.enter()
        foreign.record(number)
        peak.leave()
      }
    }
    _ = try await jobs
    try await queue.waitUntilIdle()
    await foreign.wait(forCount: 200)
    await queue.stop()
    #expect(try await queue.counts()[.done] == 200)
    #expect(peak.peak <= 2)
    await wait(for: 0, in: operations)
  }

  @Test(arguments: Engine.available) func composite_inOneSlot_runsItsLeavesThere(on engine: Engine) async throws {
    let operations = narrow(), peak = Peak()
    let queue = try harness(operations, engine.location()).queue
    try await queue.register(Count.self) { _, _ in
      CompositeOperation(
        operations: (0..<4).map { _ in
          SimpleOperation<Void> {
            peak.enter()
            peak.leave()
          }
        })
    }
    queue.start()
    try await queue.enqueue(contentsOf: (0..<20).map { Count(number: $0) })
    try await queue.waitUntilIdle()
    await queue.stop()
    #expect(try await queue.counts()[.done] == 20)
    #expect(peak.peak == 1)
  }

  @Test(arguments: Engine.available) func placesAreCancelledByOthers_areAskedForAnew(on engine: Engine) async throws {
    let operations = narrow()
    operations.isSuspended = true
    let queue = try harness(operations, engine.location()).queue
    try await queue.register(Count.self) { _, _ async throws in }
    try await queue.enqueue(contentsOf: (0..<4).map { Count(number: $0) })
    queue.start()
    await wait(for: 4, in: operations)
    operations.cancelAllOperations()
    operations.isSuspended = false
    try await queue.waitUntilIdle()
    await queue.stop()
    #expect(try await queue.counts()[.done] == 4)
  }

  @Test(arguments: Engine.available) func runningJobIsCancelledWithTheQueue_hasFailed(on engine: Engine) async throws {
    let operations = narrow(), started = Gate()
    let queue = try harness(operations, engine.location()).queue
    try await queue.register(Count.self) { _, _ in
      started.open()
      return NeverFinishingOperation<Void>()
    }
    let id = try await queue.enqueue(Count(number: 1), options: JobOptions(maxAttempts: 1))
    queue.start()
    await started.wait()
    await until(operations.operations.first?.isExecuting == true)
    operations.cancelAllOperations()
    let record = try await queue.waitUntilSettled(id)
    #expect(record?.state == .dead)
    await queue.stop()
    await wait(for: 0, in: operations)
  }

  @Test(arguments: Engine.available) func jobThatMustRunAlone_runsInAPlace(on engine: Engine) async throws {
    let operations = narrow(4)
    let queue = try harness(operations, engine.location()).queue
    try await queue.register(Count.self) { _, _ async throws in }
    let ids = try await queue.enqueue(contentsOf: (0..<6).map { Count(number: $0) })
    _ = try await queue.transaction {
      try $0.execute("UPDATE \(engine.table("jobs")) SET lane = lane | 2 WHERE id = \(ids[3].rawValue)")
    }
    queue.start()
    try await queue.waitUntilIdle()
    await queue.stop()
    #expect(try await queue.counts()[.done] == 6)
    await wait(for: 0, in: operations)
  }

  @Test(arguments: Engine.available) func queueGoes_whilePlacesWait_theyLeave(on engine: Engine) async throws {
    let operations = narrow()
    operations.isSuspended = true
    var queue: DurableQueue? = try harness(operations, engine.location()).queue
    try await queue?.register(Count.self) { _, _ async throws in }
    try await queue?.enqueue(Count(number: 1))
    queue?.start()
    await wait(for: 1, in: operations)
    weak let core = queue?.core
    queue = nil
    operations.isSuspended = false
    await wait(for: 0, in: operations)
    await until(core == nil)
  }

  /// Whatever comes in whatever order: no more jobs than places, and in the end no place is held.
  @Test(arguments: 0..<20) func anyOrderOfEvents_claimsNoMoreThanThereArePlaces(seed: Int) throws {
    var generator = SeededRandomNumberGenerator(seed: UInt64(seed))
    var state = RunnerState(maxConcurrentOperationCount: 3, usesPlaces: true)
    state.register(kind: 1, limit: .max)
    var due = 0, running = 0, asked: [Int] = [], held = 0
    var round: RunnerState.Round?
    _ = state.start()
    func check() {
      if round == nil, let next = state.nextRound() { round = next }
      held -= state.takeUnneededPlaces().count
    }
    func endRound() {
      guard let current = round else { return }
      round = nil
      if Int.random(in: 0..<10, using: &generator) == 0 {
        state.roundFailed(current)
        held -= current.places.count
        state.pauseIsOver()
        return
      }
      var claim = Claim()
      if current.claimable != nil, state.phase == .running {
        claim.jobs = (0..<min(due, current.limit)).map { RunnerStateTests().job(Int64($0)) }
        due -= claim.jobs.count
        claim.furtherJobs = min(due, current.furtherLimit)
      }
      let places = state.roundSucceeded(current, claim: claim, hasFreed: false, worker: 1)
      running += claim.jobs.count
      #expect(claim.jobs.count + places.unneeded.count == current.places.count)
      held -= places.unneeded.count
      asked += places.asked
    }
    for _ in 0..<2000 {
      switch Int.random(in: 0..<8, using: &generator) {
      case 0:
        due += 1
        state.workMayHaveCome()
      case 1, 2:
        guard let place = asked.indices.randomElement(using: &generator).map({ asked.remove(at: $0) }) else { break }
        if state.placeStarted(place) { held += 1 }
      case 3:
        guard running > 0 else { break }
        running -= 1
        held -= 1
        state.ended(kind: 1, isAlone: false, nil)
      case 4:
        guard let place = asked.indices.randomElement(using: &generator).map({ asked.remove(at: $0) }) else { break }
        state.placeWasCancelled(place)
      case 5 where Int.random(in: 0..<20, using: &generator) == 0:
        _ = state.stop()
        let taken = state.takeAskedPlaces()
        asked.removeAll { taken.contains($0) }
      case 5 where state.phase != .running: _ = state.start()
      default: endRound()
      }
      check()
      #expect(running <= 3 && held >= running)
    }
    // Everything that is due runs in the end.
    _ = state.start()
    state.workMayHaveCome()
    var steps = 0
    while due > 0 || running > 0 || round != nil, steps < 10_000 {
      steps += 1
      check()
      endRound()
      if let place = asked.popLast(), state.placeStarted(place) { held += 1 }
      check()
      endRound()
      if running > 0 {
        running -= 1
        held -= 1
        state.ended(kind: 1, isAlone: false, nil)
      }
    }
    for place in asked where state.placeStarted(place) { held += 1 }
    check()
    endRound()
    check()
    #expect(due == 0 && running == 0 && held == 0)
  }
}

/// A queue that is suspended right after a durable queue with a place in it has checked whether it
/// is.
private final class SuspendedBehindTheBack: OperationQueue, @unchecked Sendable {  // what is its own is behind a lock
  /// So often the durable queue is told that it is not suspended.
  let looksLeft: LockBox<Int>

  init(looks: Int) {
    looksLeft = LockBox(looks)
    super.init()
  }

  required init?(coder: NSCoder) { nil }

  override var isSuspended: Bool {
    get {
      guard DispatchQueue.getSpecific(key: StoreQueue.current) != nil, operations.contains(where: \.isExecuting)
      else { return super.isSuspended }
      let isLeft = looksLeft.withLock { looks in
        defer { looks = max(looks - 1, 0) }
        return looks > 0
      }
      if isLeft { super.isSuspended = true }
      return isLeft ? false : super.isSuspended
    }
    set { super.isSuspended = newValue }
  }
}
