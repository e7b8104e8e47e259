#if os(macOS) || os(Linux)
import DurableOperations
import Foundation
import TestSupport
import Testing

@testable import DurableQueueTool

/// The question before deleting, on a terminal.
@Suite(.timeLimit(.minutes(30))) struct AskingTests {
  private func tool(_ arguments: [String], answer: String?) -> (ran: Ran, questions: Int) {
    let ran = Locked(Ran(status: -1)), questions = Locked(0)
    let command = DurableQueueCommand { text in
      ran.withLock { $0.output += text }
    } errors: { text in
      ran.withLock { $0.errors += text }
    } answer: {
      questions.increment()
      return answer
    }
    let status = command.run(arguments)
    ran.withLock { $0.status = status }
    return (ran.current, questions.current)
  }

  @Test(arguments: ["n", "", "no", "yess", "ja", nil]) func anyOtherAnswer_deletesNothing(_ answer: String?)
    async throws
  {
    let (sample, ids) = try await Sample.withJobs()
    let before = try await sample.queue().counts()
    let (ran, questions) = tool(["delete-unstarted", sample.path, "--all"], answer: answer)
    #expect(ran.status == 1)
    #expect(ran.output == "")
    #expect(questions == 1)
    #expect(
      ran.errors == """
        kind    state      jobs
        mail    waiting       1
        mail    blocked       1
        mail    held          1
        resize  scheduled     1
        4 jobs would be deleted for good. Delete them? [y/N] \(answer == nil ? "\n" : "")Nothing was deleted.

        """)
    #expect(before.total == ids.count)
    #expect(try await sample.queue().counts() == before)
  }

  @Test func kindsThatDifferOnlyInHowAnAccentIsSpelt_areTwo() async throws {
    let sample = try Sample()
    try await sample.queue().enqueue(contentsOf: [JobRequest(Composed()), JobRequest(Decomposed())])
    let ran = tool(["delete-unstarted", sample.path, "--kind", Composed.kind], answer: "n").ran
    #expect(ran.errors.contains("1 job would be deleted for good."), "\(ran.errors)")
    #expect(ran.errors.utf8.contains(Composed.kind.utf8) && !ran.errors.utf8.contains(Decomposed.kind.utf8))
    let both = tool(["delete", sample.path, "1", "2"], answer: "n").ran.errors
    #expect(both.utf8.contains(Composed.kind.utf8) && both.utf8.contains(Decomposed.kind.utf8), "\(both)")
  }

  @Test(arguments: ["y", "Y", " yes "]) func yes_deletes(_ answer: String) async throws {
    let (sample, ids) = try await Sample.withJobs()
    let (ran, _) = tool(["delete", sample.path, "--state", "dead", "--json"], answer: answer)
    #expect(ran.status == 0)
    #expect(ran.output == "{\"command\":\"delete\",\"count\":1,\"jobs\":null,\"failures\":[]}\n")
    #expect(ran.errors.hasSuffix("1 job would be deleted for good. Delete it? [y/N] "), "\(ran.errors)")
    #expect(try await sample.queue().job(try #require(ids[.dead])) == nil)
  }

  @Test func jobsByNumber_areAskedFor() async throws {
    let (sample, ids) = try await Sample.withJobs()
    let (dead, done) = (try #require(ids[.dead]), try #require(ids[.done]))
    let (ran, _) = tool(["delete", sample.path, "\(dead)", "\(done)", "99"], answer: "n")
    #expect(ran.errors.contains("mail  dead      1\nmail  done      1\n2 jobs would be deleted"), "\(ran.errors)")
    #expect(try await sample.queue().counts().total == ids.count)
  }

  @Test func withYes_orWithNothingToDelete_itDoesNotAsk() async throws {
    let (sample, ids) = try await Sample.withJobs()
    let yes = tool(["delete-unstarted", sample.path, "--kind", "resize", "--yes"], answer: "n")
    #expect(yes.questions == 0 && yes.ran.output == "1 job was deleted.\n")
    let nothing = tool(["delete-unstarted", sample.path, "--kind", "resize"], answer: "n")
    #expect(nothing.questions == 0 && nothing.ran.output == "0 jobs were deleted.\n")
    let other = tool(["hold", sample.path, "\(try #require(ids[.waiting]))"], answer: "n")
    #expect(other.questions == 0 && other.ran.status == 0)
  }

  @Test func dryRun_tells_andDeletesNothing() async throws {
    let (sample, ids) = try await Sample.withJobs()
    await until(!FileManager.default.fileExists(atPath: sample.path + "-wal"))
    let before = try Snapshot(sample.folder)
    let (ran, questions) = tool(["delete-unstarted", sample.path, "--kind", "mail", "--dry-run", "--yes"], answer: "y")
    #expect(ran.status == 0 && questions == 0 && ran.errors == "")
    #expect(
      ran.output == """
        kind  state    jobs
        mail  waiting     1
        mail  blocked     1
        mail  held        1
        3 jobs would be deleted.

        """)
    let json = tool(["delete-unstarted", sample.path, "--all", "--dry-run", "--json"], answer: "y").ran.output
    #expect(json == "{\"command\":\"delete-unstarted\",\"dryRun\":true,\"count\":4,\"jobs\":null,\"failures\":[]}\n")
    let dead = try #require(ids[.dead])
    let some = tool(["delete", sample.path, "\(dead)", "99", "--dry-run"], answer: "y").ran
    #expect(some.status == 1)
    #expect(some.output == "\(dead)  would be deleted: mail, dead\n")
    #expect(some.errors.contains("There is no job #99."))
    let misspelt = tool(["delete-unstarted", sample.path, "--kind", "mial", "--dry-run"], answer: "y").ran
    #expect(misspelt.output == "0 jobs would be deleted.\n" && misspelt.errors.hasSuffix("Did you mean mail?\n"))
    #expect(try Snapshot(sample.folder) == before)
  }

  // MARK: - The executable

  /// Runs the tool on a terminal with a typed line, and returns the screen.
  private func onATerminal(_ arguments: [String], typed line: String) async throws -> (status: Int32, screen: String) {
    let terminal = try PseudoTerminal()
    let process = Process(), ended = Gate()
    process.executableURL = try BuiltExecutable.url(of: "durable-queue")
    process.arguments = arguments
    process.standardInput = terminal.handle
    process.standardOutput = terminal.handle
    process.standardError = terminal.handle
    process.terminationHandler = { _ in ended.open() }
    terminal.type(line)
    try process.run()
    await ended.wait()
    return (process.terminationStatus, await onWorker { terminal.screen() })
  }

  @Test func onATerminal_noDeletesNothing_andYesDeletes() async throws {
    let (sample, ids) = try await Sample.withJobs()
    let no = try await onATerminal(["delete-unstarted", sample.path, "--all"], typed: "n\n")
    #expect(no.status == 1)
    #expect(no.screen.contains("4 jobs would be deleted for good. Delete them? [y/N] "), "\(no.screen)")
    #expect(no.screen.hasSuffix("Nothing was deleted.\n"), "\(no.screen)")
    // The key that ends the input.
    let end = try await onATerminal(["delete", sample.path, "--state", "dead"], typed: "\u{4}")
    #expect(end.status == 1 && end.screen.hasSuffix("Nothing was deleted.\n"), "\(end.screen)")
    #expect(try await sample.queue().counts().total == ids.count)
    let yes = try await onATerminal(["delete-unstarted", sample.path, "--all"], typed: "y\n")
    #expect(yes.status == 0)
    #expect(yes.screen.hasSuffix("4 jobs were deleted.\n"), "\(yes.screen)")
    let told = try await onATerminal(["delete", sample.path, "--state", "dead", "--yes"], typed: "n\n")
    #expect(told.status == 0 && !told.screen.contains("[y/N]"), "\(told.screen)")
    #expect(try await sample.queue().counts().total == ids.count - 5)
  }

  @Test func withoutATerminal_deletingManyNeedsYes() async throws {
    let (sample, ids) = try await Sample.withJobs()
    let refused = try await PlainProcess.run("durable-queue", "delete-unstarted", sample.path, "--all")
    #expect(refused.status == 1)
    #expect(refused.lines == [])
    #expect(try await sample.queue().counts().total == ids.count)
    let ran = try await PlainProcess.run("durable-queue", "delete-unstarted", sample.path, "--all", "--yes")
    #expect(ran.status == 0)
    #expect(ran.lines == ["4 jobs were deleted."])
  }
}

private struct Composed: Job { static let kind = "caf\u{E9}" }
private struct Decomposed: Job { static let kind = "cafe\u{301}" }
#endif
