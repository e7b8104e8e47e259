import DurableOperations
import Foundation
import TestSupport
import Testing

@testable import DurableQueueTool

/// Commands that delete many jobs at once.
@Suite(.timeLimit(.minutes(30))) struct DeletingTests {
  @Test func deleteUnstarted_thatIsNotToldWhich_deletesNothing() async throws {
    let (sample, ids) = try await Sample.withJobs()
    let ran = tool("delete-unstarted", sample.path, "--yes")
    #expect(ran.status == 64)
    #expect(ran.output == "")
    #expect(ran.errors.contains("--kind KIND") && ran.errors.contains("--all"), "\(ran.errors)")
    #expect(try await sample.queue().counts().total == ids.count)
  }

  @Test func deleteUnstarted_deletesWhatDoesNotRunYet() async throws {
    let (sample, ids) = try await Sample.withJobs()
    #expect(tool("delete-unstarted", sample.path, "--kind", "resize", "--yes").output == "1 job was deleted.\n")
    #expect(try await sample.queue().job(try #require(ids[.scheduled])) == nil)
    #expect(tool("delete-unstarted", sample.path, "--all", "--yes").output == "3 jobs were deleted.\n")
    let left = try await sample.queue().counts()
    #expect((left[.waiting], left[.scheduled], left[.blocked], left[.held]) == (0, 0, 0, 0))
    #expect((left[.done], left[.dead], left[.cancelled]) == (1, 1, 1))
  }

  @Test func deleteUnstarted_ofAKindWithoutJobs_isHintedAt() async throws {
    let (sample, ids) = try await Sample.withJobs()
    let ran = tool("delete-unstarted", sample.path, "--kind", "mails", "--yes")
    #expect(ran.output == "0 jobs were deleted.\n")
    #expect(ran.errors.hasSuffix("Did you mean mail?\n"))
    #expect(try await sample.queue().counts().total == ids.count)
  }

  @Test(arguments: [
    ["delete-unstarted", "--all"], ["delete-unstarted", "--all", "--json"],
    ["delete", "--state", "waiting,scheduled,blocked,held"],
  ])
  func withoutATerminal_deletingMany_saysWhatItWouldDelete_andDeletesNothing(_ words: [String]) async throws {
    let (sample, ids) = try await Sample.withJobs()
    let ran = tool([words[0], sample.path] + words.dropFirst())
    #expect(ran.status == 1)
    #expect(ran.output == "")
    #expect(
      ran.errors == """
        kind    state      jobs
        mail    waiting       1
        mail    blocked       1
        mail    held          1
        resize  scheduled     1
        durable-queue: 4 jobs would be deleted for good. Nothing was deleted, because there is no terminal to ask on. \
        Add --yes to delete them.

        """)
    #expect(try await sample.queue().counts().total == ids.count)
  }

  /// A script that works only as long as there is nothing to delete would be a trap.
  @Test func withoutATerminal_withNothingToDelete_yesIsNeeded_andTheKindIsHintedAt() async throws {
    let (sample, _) = try await Sample.withJobs()
    let ran = tool("delete-unstarted", sample.path, "--kind", "mails")
    #expect(ran.status == 1 && ran.output == "")
    #expect(ran.errors.hasPrefix("durable-queue: 0 jobs would be deleted for good. Nothing was deleted"))
    #expect(ran.errors.hasSuffix("Did you mean mail?\n"), "\(ran.errors)")
  }

  @Test func withoutATerminal_numbersAreEnough() async throws {
    let (sample, ids) = try await Sample.withJobs()
    let (dead, done) = (try #require(ids[.dead]), try #require(ids[.done]))
    let ran = tool("delete", sample.path, "\(dead)", "\(done)")
    #expect(ran.status == 0 && ran.output == "\(dead)  deleted\n\(done)  deleted\n")
    #expect(try await sample.queue().counts().total == ids.count - 2)
  }

  @Test func deleteByState_leavesTheOthers() async throws {
    let (sample, ids) = try await Sample.withJobs()
    let other = tool("delete", sample.path, "--state", "done", "--kind", "resize", "--yes")
    #expect(other.status == 0)
    #expect(other.output == "0 jobs were deleted.\n")
    let ran = tool("delete", sample.path, "--state", "done, dead", "--state", "CANCELLED", "--yes")
    #expect(ran.status == 0)
    #expect(ran.output == "3 jobs were deleted.\n")
    let left = try await sample.queue().counts()
    #expect((left[.done], left[.dead], left[.cancelled]) == (0, 0, 0))
    #expect(left.total == ids.count - 3)
    let json = tool("delete", sample.path, "--state", "held", "--kind", "mail", "--json", "--yes")
    #expect(json.output == "{\"command\":\"delete\",\"count\":1,\"jobs\":null,\"failures\":[]}\n")
  }

  @Test func deleteByState_keepsWhatExecutes_andSaysSo() async throws {
    let sample = try Sample()
    let queue = try sample.queue()
    let (began, ended) = (Gate(), Gate())
    try await queue.register(Mail.self) { (_, _) async throws in
      began.open()
      await ended.wait()
    }
    queue.start()
    let id = try await queue.enqueue(Mail(to: "ada"))
    let other = try await queue.enqueue(Resize(width: 1))
    await began.wait()
    let ran = tool("delete", sample.path, "--state", "waiting,executing", "--json", "--yes")
    #expect(ran.status == 1)
    let result = try #require(try ran.json() as? [String: Any])
    #expect(result["count"] as? Int == 1)
    let failures = try #require(result["failures"] as? [[String: Any]])
    #expect(failures.map { $0["id"] as? Int } == [Int(id.rawValue)])
    #expect(
      ran.errors == "durable-queue: Job \(id) executes, so it stays. Cancel it, and delete it when it has ended.\n")
    #expect(try await queue.job(id)?.state == .executing)
    #expect(try await queue.job(other) == nil)
    // Those of another kind do not matter.
    #expect(tool("delete", sample.path, "--state", "executing", "--kind", "resize", "--yes").status == 0)
    ended.open()
    await queue.stop()
  }
}
