import DurableOperations
import Foundation
import TestSupport
import Testing

@testable import CompositeOperationsCommandLine
@testable import DurableQueueTool

@Suite(.timeLimit(.minutes(30))) struct ChangingTests {
  private func state(_ id: JobID?, _ sample: Sample) throws -> JobState? {
    try sample.queue().job(try #require(id))?.state
  }

  @Test func retry_hasJobsWait() async throws {
    let (sample, ids) = try await Sample.withJobs()
    let (dead, held) = (try #require(ids[.dead]), try #require(ids[.held]))
    let ran = tool("retry", sample.path, "\(dead.rawValue)", "\(held)")
    #expect(ran.status == 0)
    #expect(ran.output == "\(dead)  will run again\n\(held)  will run again\n")
    #expect(try state(dead, sample) == .waiting)
    #expect(try state(held, sample) == .waiting)
  }

  @Test(arguments: [("--all-dead", JobState.dead, JobState.held), ("--all-held", .held, .dead)])
  func retryAll_hasThoseOfAStateWait(_ option: String, _ state: JobState, _ other: JobState) async throws {
    let (sample, ids) = try await Sample.withJobs()
    let none = tool("retry", sample.path, option, "--kind", "resize")
    #expect(none.status == 0)
    #expect(none.output == "0 jobs will run again.\n")
    let ran = tool("retry", sample.path, option, "--kind", "mail", "--json")
    #expect(ran.output == "{\"command\":\"retry\",\"count\":1,\"jobs\":null,\"failures\":[]}\n")
    #expect(try self.state(ids[state], sample) == .waiting)
    #expect(try self.state(ids[other], sample) == other)
  }

  @Test func cancelHoldAndDelete() async throws {
    let (sample, ids) = try await Sample.withJobs()
    let (scheduled, waiting, done) = (
      try #require(ids[.scheduled]), try #require(ids[.waiting]), try #require(ids[.done])
    )
    #expect(tool("cancel", sample.path, "\(scheduled.rawValue)").output == "\(scheduled)  cancelled\n")
    #expect(try state(scheduled, sample) == .cancelled)
    #expect(tool("hold", sample.path, "\(waiting.rawValue)").output == "\(waiting)  held\n")
    #expect(try state(waiting, sample) == .held)
    #expect(tool("delete", sample.path, "\(done.rawValue)").output == "\(done)  deleted\n")
    #expect(try state(done, sample) == nil)
  }

  @Test func whatCanNotBeDoneWithOne_keepsNoOtherFromIt() async throws {
    let (sample, ids) = try await Sample.withJobs()
    let (done, waiting) = (try #require(ids[.done]), try #require(ids[.waiting]))
    let ran = tool("hold", sample.path, "\(done.rawValue)", "99", "\(waiting.rawValue)", "--json")
    #expect(ran.status == 1)
    let result = try #require(try ran.json() as? [String: Any])
    #expect(result["command"] as? String == "hold")
    #expect(result["count"] as? Int == 1)
    #expect(result["jobs"] as? [Int] == [Int(waiting.rawValue)])
    let failures = try #require(result["failures"] as? [[String: Any]])
    #expect(failures.compactMap { $0["id"] as? Int } == [Int(done.rawValue), 99])
    #expect(ran.errors.split(separator: "\n").count == 2)
    #expect(ran.errors.contains("Job \(done) is done, which does not allow this."), "\(ran.errors)")
  }

  @Test func jobThatExecutes_isAskedToEnd() async throws {
    let sample = try Sample()
    let queue = try sample.queue()
    let (began, ended) = (Gate(), Gate())
    try await queue.register(Mail.self) { _, _ in
      began.open()
      await withTaskCancellationHandler {
        await ended.wait()
      } onCancel: {
        ended.open()
      }
      try Task.checkCancellation()
    }
    let events = queue.events()
    queue.start()
    let id = try await queue.enqueue(Mail(to: "ada"))
    await began.wait()
    #expect(tool("list", sample.path).output.contains("executing"))
    #expect(tool("delete", sample.path, "\(id)").status == 1)
    #expect(tool("cancel", sample.path, "\(id)").output == "\(id)  asked to end\n")
    for await event in events where event.kind == .cancelled && event.jobID == id { break }
    #expect(try await queue.job(id)?.state == .cancelled)
    await queue.stop()
  }

  @Test func priority_isSet() async throws {
    let (sample, ids) = try await Sample.withJobs()
    let waiting = try #require(ids[.waiting])
    #expect(tool("priority", sample.path, "\(waiting.rawValue)", "20").status == 0)
    #expect(try await sample.queue().job(waiting)?.priority == JobPriority(major: 20))
    #expect(tool("priority", sample.path, "\(waiting.rawValue)", "-5,3").output.contains("-5,3"))
    #expect(try await sample.queue().job(waiting)?.priority == JobPriority(major: -5, minor: 3))
    #expect(tool("priority", sample.path, "99", "1").status == 1)
  }

  @Test func pauseAndResume_areKept() async throws {
    let sample = try Sample()
    try await sample.queue().enqueue(Mail(to: "ada"))
    #expect(tool("pause", sample.path, "mail").output == "mail  paused\n")
    #expect(try await sample.queue().counts()["mail"]?.isPaused == true)
    let ran = tool("resume", sample.path, "mail", "--json")
    #expect(ran.output == "{\"command\":\"resume\",\"count\":1,\"kinds\":[\"mail\"],\"failures\":[]}\n")
    #expect(try await sample.queue().counts()["mail"]?.isPaused == false)
    let unknown = tool("resume", sample.path, "mial")
    #expect(unknown.status == 1 && unknown.output == "")
    #expect(unknown.errors == "durable-queue: There is no kind “mial”, so it is not paused. Did you mean mail?\n")
  }

  @Test func resume_kindThatIsKnownButHasNoJobs_isNoError() async throws {
    let sample = try Sample()
    try await sample.queue().register(Resize.self) { (_, _) async throws in }
    let ran = tool("resume", sample.path, "resize", "--json")
    #expect(ran.status == 0)
    #expect(ran.output == "{\"command\":\"resume\",\"count\":1,\"kinds\":[\"resize\"],\"failures\":[]}\n")
    #expect(tool("resume", sample.path, "resiez").errors.hasSuffix("Did you mean resize?\n"))
  }

  @Test func limit_isKept_andShown_untilItIsLifted() async throws {
    let sample = try Sample()
    try await sample.queue().enqueue(Mail(to: "ada"))
    #expect(tool("limit", sample.path, "mail", "--to", "3").output == "mail  3 at most\n")
    let line = try #require(tool("stats", sample.path).output.split(separator: "\n").first { $0.hasPrefix("mail") })
    #expect(line.hasSuffix("3 at most"), "\(line)")
    #expect(tool("limit", sample.path, "mail", "--none").output == "mail  no limit\n")
    #expect(!tool("stats", sample.path).output.contains("at most"))
    let refused = tool("limit", sample.path, "mial", "--to", "3")
    #expect(refused.status == 1)
    #expect(refused.errors.contains("The queue knows no kind “mial”, so it was not limited. Did you mean mail?"))
  }

  /// They look the same, and are two kinds for a queue.
  @Test func kindsThatDifferInNormalizationOnly_areEachChanged_andToldApart() async throws {
    let sample = try Sample()
    let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
    try await sample.queue().enqueue(Mail(to: "ada"))
    #expect(tool("pause", "--new", sample.path, composed, decomposed).lines.count == 2)
    let paused = try await sample.queue().counts().kinds.filter(\.isPaused).map { Array($0.kind.utf8) }
    #expect(Set(paused) == [Array(composed.utf8), Array(decomposed.utf8)])
    let other = try Sample()
    try await other.queue().pause(kind: composed)
    let none = tool("list", other.path, "--kind", decomposed)
    #expect(none.errors.contains("There are no jobs of the kind “\(decomposed)”."), "\(none)")
  }

  /// TOOL-6
  @Test func pauseOfAnUnknownKind_isRefused_unlessItIsSaidToBeNew() async throws {
    let sample = try Sample()
    let queue = try sample.queue()
    try await queue.enqueue(Mail(to: "ada"))
    try await queue.deleteUnstarted()
    try await queue.register(Resize.self) { (_, _) async throws in }
    let refused = tool("pause", sample.path, "mial", "mail", "resize")
    #expect(refused.status == 1)
    #expect(refused.output == "mail  paused\nresize  paused\n")
    #expect(
      refused.errors == "durable-queue: The queue knows no kind “mial”, so it was not paused. Did you mean mail? "
        + "With --new it is paused before its jobs come.\n")
    #expect(!tool("stats", sample.path).output.contains("mial"))
    #expect(tool("pause", sample.path, "mial", "--new").output == "mial  paused\n")
    #expect(try await queue.counts()["mial"]?.isPaused == true)
  }

  @Test func retryAll_tellsASentence() async throws {
    let (sample, _) = try await Sample.withJobs()
    #expect(tool("retry", sample.path, "--all-dead").output == "1 job will run again.\n")
  }

  @Test func priorityOfAKind_isSetForThoseThatMayRun() async throws {
    let (sample, ids) = try await Sample.withJobs()
    let ran = tool("priority", sample.path, "--kind", "mail", "7,3")
    #expect(ran.status == 0)
    #expect(ran.output == "4 jobs have the priority 7,3 now.\n")
    let queue = try sample.queue()
    for (state, id) in ids {
      let job = try await #require(try queue.job(id))
      let isChanged = job.kind == "mail" && state != .done && state != .cancelled
      #expect((job.priority == JobPriority(major: 7, minor: 3)) == isChanged, "\(state)")
    }
    #expect(tool("priority", sample.path, "--kind", "mail", "5").output == "4 jobs have the priority 5 now.\n")
    #expect(try await queue.job(#require(ids[.waiting]))?.priority == JobPriority(major: 5, minor: 3))
    #expect(tool("priority", sample.path, "20", "--kind", "resize").output == "1 job has the priority 20 now.\n")
    let json = tool("priority", sample.path, "--kind", "resize", "-5", "--json")
    #expect(json.output == "{\"command\":\"priority\",\"count\":1,\"jobs\":null,\"failures\":[]}\n")
    let none = tool("priority", sample.path, "--kind", "mails", "1")
    #expect(none.output == "0 jobs have the priority 1 now.\n")
    #expect(none.errors.hasSuffix("Did you mean mail?\n"))
  }

  @Test(arguments: [(EPIPE, 0), (ENOSPC, 1)] as [(Int32, Int32)])
  func outputThatCanNotBeWritten_keepsNothingFromBeingChanged(_ code: Int32, _ status: Int32) throws {
    let sample = try Sample()
    let ids = try sample.queue().enqueue(contentsOf: (0..<3).map { Mail(to: "\($0)") })
    let command = DurableQueueCommand { _ in
      throw StandardStream.Failure(code: code)
    } errors: { _ in
    }
    #expect(command.run(["hold", sample.path] + ids.map(\.description)) == status)
    for id in ids { #expect(try state(id, sample) == .held) }
  }

  @Test func readerThatGoes_hidesNoFailure() throws {
    let sample = try Sample()
    let queue = try sample.queue()
    let id = try queue.enqueue(Mail(to: "ada"))
    try queue.schedule(Mail(to: "all"), named: "often", .interval(.seconds(90)))
    try queue.transaction { _ = try $0.execute("UPDATE durable_periodic SET schedule = 'x'") }
    let complaints = Locked("")
    let command = DurableQueueCommand { _ in
      throw StandardStream.Failure(code: EPIPE)
    } errors: { text in
      complaints.withLock { $0 += text }
    }
    #expect(command.run(["show", sample.path, id.description, "99"]) == 1)
    #expect(complaints.current.contains("There is no job #99"), "\(complaints.current)")
    #expect(command.run(["periodic", sample.path, "--json"]) == 1)
  }

  @Test func databaseFails_inBetween_whatWasDoneIsReported() throws {
    let sample = try Sample()
    let queue = try sample.queue()
    let ids = try queue.enqueue(contentsOf: (0..<3).map { Mail(to: "\($0)") })
    func command(_ ids: [JobID]) -> Ran { tool(["hold", sample.path, "--json"] + ids.map(\.description)) }
    try queue.transaction { db in
      try db.execute(
        """
        CREATE TRIGGER refusing BEFORE UPDATE ON durable_jobs WHEN new.id = \(ids[1].rawValue)
        BEGIN SELECT RAISE(ABORT, 'not now'); END
        """)
    }
    let ran = command(ids)
    #expect(ran.status == 1)
    #expect(
      ran.output == "{\"command\":\"hold\",\"count\":1,\"jobs\":[\(ids[0].rawValue)],\"failures\":[]}\n")
    #expect(ran.errors.contains("not now"), "\(ran.errors)")
    for (id, state) in zip(ids, [JobState.held, .waiting, .waiting]) { #expect(try self.state(id, sample) == state) }
    // Nothing was done before the first.
    #expect(command([ids[1]]).output == "")
  }

  @Test func complaint_isALineThatNoTerminalObeys() throws {
    let sample = try Sample()
    try sample.queue().schedule(Mail(to: "all"), named: "night\u{1B}[31mly", .interval(.seconds(60)))
    let ran = tool("unschedule", sample.path, "night\n[31mly")
    #expect(ran.errors.contains("Did you mean “night\u{FFFD}[31mly”?"), "\(ran.errors)")
    #expect(ran.errors.count { $0 == "\n" } == 1)
  }
}
