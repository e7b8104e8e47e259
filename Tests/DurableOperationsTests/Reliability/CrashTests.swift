#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

@Suite(.timeLimit(.minutes(30))) struct CrashTests {
  @Test("One job that traps among 1,000, eight at once: 999 are done, it is dead")
  func trappingJob_harmsNoOtherJob() async throws {
    try await withDatabaseFile { file in
      let log = file.deletingLastPathComponent().appending(path: "attempts.log")
      let arguments = ["log=\(log.path)", "concurrent=8", "crashes=3", "durability=normal"]
      let first = try DurableChild(file, arguments: arguments + ["run=0"])
      await first.tell("enqueue 500 run", until: "enqueued 500")
      await first.tell("enqueue 1 trap", until: "enqueued 501")
      await first.tell("enqueue 499 run", until: "enqueued 1000")
      await first.exit()
      var crashes = 0
      while true {
        let child = try DurableChild(file, arguments: arguments + ["run=\(crashes + 1)"])
        child.tell("start")
        child.tell("settle")
        await child.lines.wait { $0.contains("settled") || $0.contains(DurableChild.end) }
        if child.lines.contains("settled") {
          await child.exit()
          break
        }
        #expect(await child.end() != SIGKILL)
        crashes += 1
        try #require(crashes < 10)
      }
      let inspection = try Inspection(file)
      #expect(crashes == 3)
      #expect(try inspection.count(in: .done) == 999)
      #expect(try inspection.ids(in: .dead) == [501])
      // What ran beside it at its first crash ran alone then: no crash is theirs but that one.
      // None, if all others had ended before it trapped.
      #expect(try inspection.numbers("SELECT max(crashes) FROM durable_jobs WHERE id <> 501")[0] <= 1)
      #expect(try inspection.numbers("SELECT crashes FROM durable_jobs WHERE id = 501") == [3])
      #expect(try inspection.numbers("SELECT attempts FROM durable_jobs WHERE id = 501") == [0])
      let notes = AttemptNotes(log)
      #expect(notes.startsAfterDone().isEmpty)
      #expect(notes.notes.count { $0.what == "S" && $0.id == 501 } == 3)
      // Before it starts alone, whatever started before in the same process has finished.
      for run in ["2", "3"] {
        let before = notes.notes.filter { $0.run == run }.prefix { $0.id != 501 }
        #expect(before.count { $0.what == "S" } == before.count { $0.what == "F" })
      }
    }
  }

  @Test func crashOfAnother_isNoticedBeforeItsLeaseEnds() async throws {
    try await withDatabaseFile { file in
      let first = try DurableChild(file, "concurrent=2"), second = try DurableChild(file, "concurrent=2")
      await first.tell("start", until: "started")
      first.tell("enqueue 1 hold")
      await first.wait(for: "holds 1")
      await second.tell("start", until: "started")
      await first.killAndWait()
      // The lease is for ten minutes.
      await second.wait(for: "rescued 1")
      second.tell("release")
      await second.wait(for: "done 1")
      await second.exit()
      #expect(try Inspection(file).numbers("SELECT crashes FROM durable_jobs") == [1])
    }
  }
}
#endif
