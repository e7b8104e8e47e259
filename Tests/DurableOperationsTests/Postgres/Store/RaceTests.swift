#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// Several processes at once, where a decision of one depends on what another is about to commit.
@Suite(.needsPostgres, .timeLimit(.minutes(30))) struct RaceTests {
  // MARK: - Dependents

  @Test(arguments: [true, false])
  func dependentEnqueued_whileItsPrerequisiteIsAcknowledged_isNotBlockedForEver(_ keepsDone: Bool) throws {
    let race = try Race(processes: 2)
    for round in 0..<200 {
      let first = try race[0].enqueue("a")
      #expect(try race[0].claimed() == [first])
      let claim = try #require(
        try race[0].number("SELECT claim FROM jobs WHERE id = ?", .integer(first.rawValue)))
      var dependent: JobID?
      try race.atOnce { process in
        switch process {
        case 0:
          let end = StoreHarness.acknowledgement(of: first, claim: claim)
          _ = try race[0].session { try race[0].perform($0, ends: [end], keepsDone: keepsDone) }
        default:
          let reason = try race[1].refusal { dependent = try race[1].enqueue("b", JobOptions(dependsOn: [first])) }
          // It was deleted before.
          #expect(reason == nil || reason == .unknownPrerequisite(first) && !keepsDone)
        }
      }
      if let dependent { #expect(try race[0].state(dependent) == .waiting, "round \(round)") }
    }
    #expect(try race.problems() == [])
  }

  @Test func dependentEnqueued_whileItsPrerequisiteIsPruned_doesNotWaitForNothing() throws {
    let race = try Race(processes: 2)
    for round in 0..<100 {
      let done = try race[0].enqueue("a"), cancelled = try race[0].enqueue("b")
      try race[0].run(done)
      _ = try race[0].session { try $0.cancel(cancelled) }
      var dependents: [JobID] = []
      try race.atOnce { process in
        switch process {
        case 0: _ = try race[0].session { try $0.prune(keeping: .seconds(-1)) }
        default:
          for first in round % 2 == 0 ? [done, cancelled] : [cancelled, done] {
            let options = JobOptions(dependsOn: [first])
            let reason = try race[1].refusal { dependents.append(try race[1].enqueue("c", options)) }
            #expect(reason == nil || reason == .unknownPrerequisite(first))
          }
        }
      }
      #expect(try race.problems() == [], "round \(round)")
      for id in dependents { _ = try race[0].session { try $0.delete(id) } }
    }
  }

  @Test(arguments: [PrerequisiteFailure.wait, .die, .run])
  func dependentEnqueued_whileItsPrerequisiteIsDeleted_doesNotWaitForNothing(_ policy: PrerequisiteFailure) throws {
    let race = try Race(processes: 2)
    for round in 0..<100 {
      let first = try race[0].enqueue("a")
      var dependent: JobID?
      try race.atOnce { process in
        switch process {
        case 0: try race[0].session { try $0.delete(first) }
        default:
          let options = JobOptions(dependsOn: [first], whenPrerequisiteFails: policy)
          let reason = try race[1].refusal { dependent = try race[1].enqueue("b", options) }
          #expect(reason == nil || reason == .unknownPrerequisite(first))
        }
      }
      if let dependent {
        let expected: JobState = policy == .wait ? .cancelled : policy == .die ? .dead : .waiting
        #expect(try race[0].state(dependent) == expected, "round \(round)")
      }
    }
    #expect(try race.problems() == [])
  }

  @Test func twoPrerequisites_endAtOnce_theirDependentRuns() throws {
    let race = try Race(processes: 2)
    for round in 0..<100 {
      let ids = try race[0].enqueue(all: [StoreHarness.job("a"), StoreHarness.job("b")])
      let dependent = try race[0].enqueue("c", JobOptions(dependsOn: ids))
      #expect(try race[0].claimed(["a": 1]) == [ids[0]])
      #expect(try race[1].claimed(["b": 1]) == [ids[1]])
      try race.atOnce { process in try race[process].end(ids[process], .done, keepsDone: round % 2 == 0) }
      #expect(try race[0].state(dependent) == .waiting, "round \(round)")
    }
    #expect(try race.problems() == [])
  }

  // MARK: - Unique keys

  @Test(arguments: [UniqueKey.Conflict.reject, .replace])
  func oneKey_enqueuedBySeveral_isStoredOnce(_ conflict: UniqueKey.Conflict) throws {
    let race = try Race(processes: 4)
    for round in 0..<60 {
      let options = JobOptions(uniqueKey: UniqueKey("key \(round)", whenTaken: conflict))
      let ids = LockBox<[JobID]>([]), refusals = LockBox<[JobError.Reason]>([])
      try race.atOnce { process in
        let reason = try race[process].refusal {
          let id = try race[process].enqueue("a", options)
          ids.withLock { $0.append(id) }
        }
        if let reason { refusals.withLock { $0.append(reason) } }
      }
      let stored = ids.withLock { $0 }
      #expect(Set(stored).count == 1)
      switch conflict.value {
      case .reject: #expect(refusals.withLock { $0 } == Array(repeating: .duplicate(stored[0]), count: 3))
      case .replace: #expect(stored.count == 4)
      }
    }
    #expect(try race[0].number("SELECT count(*) FROM jobs") == 60)
  }

  @Test func deadJobIsRetried_whileItsKeyIsTaken_oneOfThemHasIt() throws {
    let race = try Race(processes: 2)
    for round in 0..<100 {
      let options = JobOptions(uniqueKey: UniqueKey("key \(round)"))
      let dead = try race[0].enqueue("a", options)
      try race[0].run(dead, .dead("no"))
      let refused = LockBox(0)
      try race.atOnce { process in
        let reason = try race[process].refusal {
          if process == 0 {
            try race[0].session { try $0.retry(dead) }
          } else {
            _ = try race[1].enqueue("a", options)
          }
        }
        if reason != nil { refused.withLock { $0 += 1 } }
      }
      #expect(refused.withLock { $0 } == 1, "round \(round)")
      #expect(try race[0].number("SELECT count(*) FROM jobs WHERE state = 0") == 1)
      try race[0].execute("DELETE FROM jobs")
    }
  }

  // MARK: - Circles

  /// Each is to wait for one that waits for the other.
  @Test func twoReplacedAtOnce_thatWouldCloseACircle_oneIsRefused() throws {
    let race = try Race(processes: 2)
    for round in 0..<50 {
      func key(_ process: Int) -> UniqueKey { UniqueKey("\(process) in \(round)", whenTaken: .replace) }
      let jobs = try (0...1).map { try race[0].enqueue("a", JobOptions(uniqueKey: key($0))) }
      let dependents = try jobs.map { try race[0].enqueue("b", JobOptions(dependsOn: [$0])) }
      let reasons = LockBox<[JobError.Reason]>([])
      try race.atOnce { process in
        let options = JobOptions(uniqueKey: key(process), dependsOn: [dependents[1 - process]])
        if let reason = try race[process].refusal({ try race[process].enqueue("a", options) }) {
          reasons.withLock { $0.append(reason) }
        }
      }
      let found = reasons.withLock { $0 }
      #expect(found.count == 1 && dependents.map { .circularPrerequisite($0) }.contains(found[0]), "round \(round)")
    }
    #expect(try race.problems() == [])
  }

  /// Each is to wait for the other, which the server takes for a deadlock.
  @Test func twoReplacedAtOnce_byOnesThatWaitForEachOther_oneIsRefused() throws {
    let race = try Race(processes: 2, settings: "-cdeadlock_timeout=20ms")
    for round in 0..<30 {
      func key(_ process: Int) -> UniqueKey { UniqueKey("\(process) in \(round)", whenTaken: .replace) }
      let jobs = try (0...1).map { try race[0].enqueue("a", JobOptions(uniqueKey: key($0))) }
      let reasons = LockBox<[JobError.Reason]>([])
      try race.atOnce { process in
        let options = JobOptions(uniqueKey: key(process), dependsOn: [jobs[1 - process]])
        if let reason = try race[process].refusal({ try race[process].enqueue("a", options) }) {
          reasons.withLock { $0.append(reason) }
        }
      }
      #expect(reasons.withLock { $0 }.count == 1, "round \(round)")
    }
    #expect(try race.problems() == [])
  }

  // MARK: - Periodic jobs, and first starts

  @Test func periodicJobs_ofSeveralProcesses_takePlaceOnceEach() throws {
    let race = try Race(processes: 4)
    let start = race[0].now
    let schedule = JobSchedule.interval(.seconds(1), startingAt: Date(milliseconds: start))
    for process in race.processes {
      try process.session { try $0.schedule(StoreHarness.job("p"), named: "tick", schedule, .all) }
    }
    for step in 1...40 {
      for process in race.processes { process.now = start + Int64(step) * 1500 }
      try race.atOnce { process in _ = try race[process].session { try $0.enqueueOccurrences() } }
    }
    let times = try race[0].execute("SELECT occurrence FROM jobs ORDER BY id").map { $0[0].integerValue }
    #expect(times == (1...60).map { start + $0 * 1000 })
  }

  @Test(arguments: 0..<10) func eightFirstStartsAtOnce_makeTheTablesOnce(_ attempt: Int) throws {
    guard case .postgres(let url, let options) = try Engine.postgres.location() else { return }
    let identities = LockBox<[String]>([])
    try Race.atOnce(8) { _ in
      let access = try PostgresAccess.open(
        url, options, mustExist: false, DurableQueue.Configuration(), EventHub())
      let identity = try access.sync { try $0.facts().identity }
      identities.withLock { $0.append(identity) }
    }
    #expect(identities.withLock { $0.count } == 8)
    #expect(Set(identities.withLock { $0 }).count == 1)
  }

  @Test func newKind_ofSeveralProcesses_getsOneNumber() throws {
    let race = try Race(processes: 4)
    for round in 0..<20 {
      let numbers = LockBox<Set<Int64>>([])
      try race.atOnce { process in
        let number = try race[process].session { try $0.number(ofKind: "kind \(round)") }
        numbers.withLock { _ = $0.insert(number) }
      }
      #expect(numbers.withLock { $0.count } == 1)
    }
  }

  // MARK: - All at once

  /// Whatever several processes do, what is stored fits together.
  @Test(arguments: 0..<Scale.count(8, least: 3)) func manyThingsAtOnce_whatIsStored_fitsTogether(seed: Int) throws {
    let race = try Race(processes: 4, settings: "-cdeadlock_timeout=20ms")
    let steps = Scale.count(150, least: 40)
    try race.atOnce { process in
      var random = SeededRandomNumberGenerator(seed: UInt64(seed * 10 + process))
      for _ in 0..<steps { try race.doSomething(in: race[process], &random) }
    }
    #expect(try race.problems() == [])
    // What waits for nothing but jobs that can run runs in the end.
    for _ in 0..<200 {
      while try race[0].session({ try $0.promote() }) {}
      let claim = try race[0].claim(["a": 100, "b": 100], limit: 100)
      if claim.jobs.isEmpty { break }
      for job in claim.jobs { try race[0].end(job.id, .done, keepsDone: false) }
    }
    let stuck = try race[0].number(
      """
      SELECT count(*) FROM jobs WHERE state = 2 AND NOT EXISTS (
        SELECT 1 FROM dependencies JOIN jobs AS first ON first.id = prerequisite
        WHERE dependent = jobs.id AND first.state IN (1, 2, 3, 4, 5, 6))
      """)
    #expect(stuck == 0)
    #expect(try race.problems() == [])
  }
}

/// Several processes that share a schema.
private struct Race {
  let processes: [StoreHarness]
  private let inspection: SchemaInspection

  init(processes count: Int, settings: String? = nil) throws {
    guard case .postgres(var url, let options) = try Engine.postgres.location() else {
      throw TestFailure(text: "it is not PostgreSQL")
    }
    inspection = try SchemaInspection(url, schema: options.schema)
    if let settings { url += "%20" + settings.replacing("=", with: "%3D") }
    let location = DurableQueue.Location.postgres(url, options)
    processes = try (0..<count).map { _ in try StoreHarness(on: .postgres, at: location) }
  }

  subscript(process: Int) -> StoreHarness { processes[process] }

  /// Has each process do something, as much at the same time as the machine can. Throws the first
  /// error.
  func atOnce(_ body: @escaping (_ process: Int) throws -> Void) throws { try Self.atOnce(processes.count, body) }

  static func atOnce(_ count: Int, _ body: @escaping (_ process: Int) throws -> Void) throws {
    let failure = LockBox<(any Error)?>(nil)
    let arrived = LockBox(0)
    // Each process has harness and variables of its own.
    nonisolated(unsafe) let body = body
    let group = DispatchGroup()
    for process in 0..<count {
      group.enter()
      // Not Dispatch, which would begin as many as there are processors.
      Thread.detachNewThread {
        arrived.withLock { $0 += 1 }
        for _ in 0..<1000 where arrived.withLock({ $0 < count }) { sched_yield() }
        do { try body(process) } catch { failure.withLock { $0 = $0 ?? error } }
        group.leave()
      }
    }
    group.wait()
    if let failure = failure.withLock({ $0 }) { throw failure }
  }

  func problems() throws -> [String] { try inspection.problems() }

  /// Refusals of the queue are fine.
  func doSomething(in process: StoreHarness, _ random: inout SeededRandomNumberGenerator) throws {
    let ids = try process.session { try $0.ids(JobFilter()) }
    let id = ids.randomElement(using: &random) ?? JobID(rawValue: 1)
    let some = ids.shuffled(using: &random).prefix(random.number(1...5))
    let choice = random.number(0...13)
    _ = try process.refusal {
      switch choice {
      case 0...3:
        let jobs = (0..<random.number(1...3)).map { StoreHarness.job($0 % 2 == 0 ? "a" : "b", options(some, &random)) }
        _ = try process.enqueue(all: jobs)
      case 4...6:
        let claim = try process.claim(["a": 3, "b": 3], limit: 4)
        let results: [Acknowledgement.Result] = [
          .done, .again(after: .zero, isCharged: true, error: "x"),
          .again(after: .seconds(9), isCharged: true, error: nil),
          .returned, .dead("x"), .held("x"), .cancelled(nil),
        ]
        let ends = claim.jobs.filter { _ in random.chance(80) }.map {
          StoreHarness.acknowledgement(of: $0.id, claim: $0.claim, random.pick(results))
        }
        let keepsDone = random.chance(50)
        _ = try process.session { try process.perform($0, ends: ends, keepsDone: keepsDone) }
      case 7: _ = try process.session { try $0.cancel(id) }
      case 8: try process.session { try $0.retry(id) }
      case 9: try process.session { try $0.delete(id) }
      case 10: _ = try process.session { try $0.cancel(some[...]) }
      case 11: _ = try process.session { try $0.prune(keeping: .seconds(-1)) }
      case 12: _ = try process.session { try $0.retry(some[...], in: .dead) }
      default: try process.lose(.crashed, maxCrashes: 3)
      }
    }
  }

  private func options(_ some: ArraySlice<JobID>, _ random: inout SeededRandomNumberGenerator) -> JobOptions {
    var options = JobOptions()
    if random.chance(30) {
      options.uniqueKey = UniqueKey("key \(random.number(0...3))", whenTaken: random.chance(70) ? .replace : .reject)
    }
    if random.chance(50) { options.dependsOn = Array(some) }
    options.whenPrerequisiteFails = random.pick([.wait, .cancel, .die, .run])
    return options
  }
}

extension StoreHarness {
  /// Why the queue refuses something; nil if it does not. Other errors are thrown.
  fileprivate func refusal(_ body: () throws -> Void) throws -> JobError.Reason? {
    do {
      try body()
      return nil
    } catch let error as JobError {
      return error.reason
    }
  }
}
#endif
