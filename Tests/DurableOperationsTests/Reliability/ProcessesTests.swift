#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// Several processes on one file.
@Suite(.timeLimit(.minutes(30))) struct ProcessesTests {
  @Test func two_shareTheWork_andNothingRunsTwice() async throws {
    try await withDatabaseFile { file in
      let log = file.deletingLastPathComponent().appending(path: "attempts.log")
      let children = try (0..<2).map { try DurableChild(file, "log=\(log.path)", "run=\($0)", "concurrent=2") }
      for child in children { await child.tell("start", until: "started") }
      // Neither can do without the other: each has room for two.
      children[0].tell("enqueue 4 hold")
      for child in children { await child.wait(forCount: 2, of: "holds") }
      for child in children { child.tell("release") }
      children[1].tell("enqueue 500 run")
      await children[1].wait(forCount: 500, of: "enqueued")
      for child in children { await child.tell("settle", until: "settled") }
      for child in children { await child.exit() }
      let notes = AttemptNotes(log)
      #expect(try Inspection(file).count(in: .done) == 504)
      #expect(notes.notes.count { $0.what == "S" } == 504)
      #expect(notes.ids("S").count == 504)
    }
  }

  @Test(arguments: 0..<5) func newFile_openedByManyAtOnce_allSucceed(round: Int) async throws {
    try await withDatabaseFile { file in
      let children = try (0..<6).map { _ in try DurableChild(file) }
      for child in children {
        await child.lines.wait { !$0.isEmpty }
        #expect(child.lines.events == ["open"])
        child.tell("enqueue 1 run")
      }
      for child in children {
        await child.lines.wait { $0.count == 2 }
        #expect(child.numbers(after: "enqueued").count == 1)
        await child.exit()
      }
      #expect(try Inspection(file).integrity() == "ok")
    }
  }

  @Test func periodicJob_ofTwoProcesses_isNotDoubled() async throws {
    try await withDatabaseFile { file in
      let children = try (0..<2).map { _ in try DurableChild(file) }
      for child in children {
        await child.tell("schedule 5", until: "did schedule")
        await child.tell("start", until: "started")
      }
      let inspection = try Inspection(file)
      try await inspection.wait { try $0.count(in: .done) >= 50 }
      await children[0].tell("unschedule", until: "did unschedule")
      for child in children { await child.exit() }
      let times = try inspection.numbers("SELECT occurrence FROM durable_jobs ORDER BY occurrence")
      #expect(Set(times).count == times.count)
      #expect(times.last! - times.first! == Int64(times.count - 1) * 5, "none is left out")
    }
  }

  @Test func pause_isSeenByTheOther() async throws {
    try await withDatabaseFile { file in
      let log = file.deletingLastPathComponent().appending(path: "attempts.log")
      let runner = try DurableChild(file, "log=\(log.path)"), other = try DurableChild(file)
      await runner.tell("start", until: "started")
      other.tell("enqueue 1 hold")
      await runner.wait(for: "holds 1")
      await other.tell("pause", until: "did pause")
      // Jobs that were enqueued before this is seen may run; once one stays, so do all.
      let inspection = try Inspection(file)
      var last: Int64 = 1
      while true {
        other.tell("enqueue 1 run")
        last += 1
        await other.wait(for: "enqueued \(last)")
        // A look by the runner lies between.
        other.tell("cancel 1")
        if last == 2 { await runner.wait(for: "cancelled 1") }
        if try inspection.ids(in: .waiting).contains(last) { break }
      }
      #expect(AttemptNotes(log).ids("S").contains(last) == false)
      await other.tell("resume", until: "did resume")
      await runner.wait(for: "done \(last)")
      await runner.exit()
      await other.exit()
    }
  }

  @Test func cancel_reachesTheProcessThatRunsTheJob() async throws {
    try await withDatabaseFile { file in
      let runner = try DurableChild(file), other = try DurableChild(file)
      await runner.tell("start", until: "started")
      runner.tell("enqueue 1 hold")
      await runner.wait(for: "holds 1")
      await other.tell("cancel 1", until: "did cancel")
      await runner.wait(for: "cancelled 1")
      #expect(try Inspection(file).ids(in: .cancelled) == [1])
      await runner.exit()
      await other.exit()
    }
  }

  @Test("A process that stood still for longer than its lease loses its jobs, is told, and its results are refused")
  func stoppedProcess_losesItsJobs() async throws {
    try await withDatabaseFile { file in
      let log = file.deletingLastPathComponent().appending(path: "attempts.log")
      let slow = try DurableChild(file, "lease=200", "poll=10", "concurrent=1", "log=\(log.path)", "run=slow")
      let other = try DurableChild(file, "lease=600000", "poll=10", "concurrent=1", "log=\(log.path)", "run=other")
      await slow.tell("start", until: "started")
      slow.tell("enqueue 1 deaf")
      await slow.wait(for: "holds 1")
      try await slow.standStill(outsideOfTransactionsOf: file)
      await other.tell("start", until: "started")
      await other.wait(for: "rescued 1")
      await other.wait(for: "holds 1")
      slow.tell("release")
      slow.signal(SIGCONT)
      await slow.wait(for: "leaseLost 1")
      let inspection = try Inspection(file)
      #expect(try inspection.ids(in: .executing) == [1])
      #expect(slow.numbers(after: "done") == [])
      other.tell("release")
      await other.wait(for: "done 1")
      // It goes on as if nothing had happened.
      await other.tell("stop 0", until: "stopped")
      slow.tell("enqueue 1 run")
      await slow.wait(for: "done 2")
      await slow.exit()
      await other.exit()
      #expect(try inspection.ids(in: .done) == [1, 2])
      #expect(try inspection.numbers("SELECT crashes FROM durable_jobs") == [0, 0], "it was there all the time")
      #expect(AttemptNotes(log).startsAfterDone().isEmpty)
    }
  }

  @Test(
    "What a process claims after it lost its lease, before it knows, is not lost",
    arguments: 0..<Scale.count(5, least: 2))
  func claimsAfterLostLease_areRescued(round: Int) async throws {
    try await withDatabaseFile { file in
      // It looks around seldom, so it claims before it looks.
      let slow = try DurableChild(file, "lease=1000", "poll=300", "concurrent=4")
      await slow.tell("start", until: "started")
      slow.tell("enqueue 1 deaf")
      await slow.wait(for: "holds 1")
      try await slow.standStill(outsideOfTransactionsOf: file)
      let other = try DurableChild(file, "lease=600000", "poll=10", "concurrent=1")
      await other.tell("start", until: "started")
      await other.wait(for: "holds 1")
      other.tell("stop 600000")
      slow.tell("enqueue 1 hold")
      slow.signal(SIGCONT)
      let inspection = try Inspection(file)
      await slow.wait(for: "holds 2")
      await slow.killAndWait()
      let third = try DurableChild(file, "poll=10")
      await third.tell("start", until: "started")
      third.tell("release")
      await third.wait(for: "done 2")
      other.tell("release")
      await other.wait(for: "stopped")
      await third.exit()
      await other.exit()
      #expect(try inspection.numbers("SELECT count(*) FROM durable_jobs WHERE state = 3") == [0])
    }
  }

  @Test func newsOfOthers_whenTheRestOfTheLookIsBusy_isNotForgotten() async throws {
    try await withDatabaseFile { file in
      let harness = try Harness(.file(file)) {
        $0.busyTimeout = .milliseconds(1)
        // One that says nothing: what the system's says, in its own time, begins a round.
        $0.networkMonitor = ManualReachabilityMonitor(isReachable: false)
      }
      let core = harness.queue.core
      func look() async throws {
        try core.database.sync { core.poll($0) }
        // The rounds that follow have come to their end.
        await harness.queue.hasPumped { !$0.isInRound }
      }
      try await harness.queue.register(Count.self) { _, _ in BlockOperation {} }
      harness.queue.start()
      try await look()
      #expect(core.withLock { $0.state.kinds.values.allSatisfy { !$0.mayHaveWork } })
      let id = try await DurableQueue.patient(file).enqueue(Count(number: 1))
      // A writer that takes back what it did: the file has no news after it.
      let other = try Connection(path: file.path, busyTimeout: .seconds(60), mustExist: true)
      try other.execute("BEGIN IMMEDIATE")
      try await look()
      #expect(try core.reader.sync { try $0.state(of: id) } == .waiting)
      try other.execute("ROLLBACK")
      try #require(core.withLock { $0.state.kinds.values.allSatisfy(\.mayHaveWork) }, "nothing else tells of the job")
      await harness.advance(by: .seconds(1), until: .done, of: id)
      await harness.queue.stop()
    }
  }
}
#endif
