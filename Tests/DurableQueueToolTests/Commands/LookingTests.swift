import DurableOperations
import Foundation
import TestSupport
import Testing

@testable import DurableQueueTool

@Suite(.timeLimit(.minutes(30))) struct LookingTests {
  @Test func list_showsEachJobInItsState() async throws {
    let (sample, ids) = try await Sample.withJobs()
    let ran = tool("list", sample.path)
    #expect(ran.status == 0)
    #expect(ran.errors == "")
    #expect(ran.lines.count == 1 + ids.count)
    for (state, id) in ids {
      let line = try #require(ran.lines.first { $0.split(separator: " ").first == "\(id.rawValue)" })
      #expect(line.contains(" \(state) "), "\(line)")
    }
    #expect(ran.output.contains("due in 1 h"))
    #expect(ran.output.contains("[ada]"))
    #expect(ran.output.contains("1 of 1"))
  }

  @Test func list_printsNothingThatATerminalObeys() async throws {
    let (sample, ids) = try await Sample.withJobs()
    let ran = tool("list", sample.path, "--state", "dead")
    #expect(ran.lines.count == 2)
    #expect(ran.output.contains("550 no such mailbox\u{FFFD}[31m"))
    let shown = tool("show", sample.path, "\(try #require(ids[.dead]).rawValue)")
    #expect(!(ran.output + shown.output).contains("\u{1B}"))
  }

  @Test func list_onATerminal_fitsIt() async throws {
    let (sample, _) = try await Sample.withJobs()
    let ran = tool("list", sample.path, width: 60)
    #expect(ran.lines.allSatisfy { $0.count <= 60 })
    #expect(ran.lines.contains { $0.hasSuffix("…") })
  }

  @Test func list_byKindAndStates() async throws {
    let (sample, ids) = try await Sample.withJobs()
    func found(_ arguments: String...) throws -> [Int] {
      let ran = Locked(Ran(status: 0))
      let command = DurableQueueCommand { text in
        ran.withLock { $0.output += text }
      } errors: { _ in
      }
      #expect(command.run(["list", sample.path, "--json"] + arguments) == 0)
      let jobs = try #require(try ran.current.json() as? [[String: Any]])
      return jobs.compactMap { $0["id"] as? Int }
    }
    func number(_ state: JobState) throws -> Int { Int(try #require(ids[state]).rawValue) }
    #expect(try found("--kind", "resize") == [number(.scheduled)])
    #expect(try found("--state", "dead", "--state=held") == [number(.dead), number(.held)])
    #expect(try found("--state", "HELD,dead") == [number(.dead), number(.held)])
    #expect(try found("--kind", "resize", "--state", "dead") == [])
    #expect(try found().count == 7)
  }

  @Test func list_isShownInPages() throws {
    let sample = try Sample()
    try sample.queue().enqueue(contentsOf: (0..<5).map { Mail(to: "\($0)") })
    let first = tool("list", sample.path, "--limit", "2")
    #expect(first.lines.count == 4)
    #expect(first.lines.last == "There are more: --after 2 shows the next.")
    let last = tool("list", sample.path, "--limit", "3", "--after", "2")
    #expect(last.lines.count == 4)
    #expect(tool("list", sample.path, "--after", "5").output == "No jobs.\n")
  }

  @Test func list_asJSON_isWholeUnlessLimited() async throws {
    let sample = try Sample()
    try await sample.queue().enqueue(contentsOf: (0..<1234).map { Mail(to: "\($0)") })
    #expect((try tool("list", sample.path, "--json").json() as? [Any])?.count == 1234)
    #expect(
      (try tool("list", sample.path, "--json", "--limit", "700", "--after", "1000").json() as? [Any])?.count == 234)
    #expect((try tool("list", sample.path, "--json", "--limit", "700").json() as? [Any])?.count == 700)
    #expect(tool("list", sample.path, "--json", "--state", "dead").output == "[]\n")
  }

  @Test func kindWithoutJobs_isHintedAt() async throws {
    let (sample, _) = try await Sample.withJobs()
    let ran = tool("list", sample.path, "--kind", "mial")
    #expect(ran.status == 0)
    #expect(ran.output == "No jobs.\n")
    #expect(ran.errors == "durable-queue: There are no jobs of the kind “mial”. Did you mean mail?\n")
    #expect(tool("list", sample.path, "--kind", "mails").errors.hasSuffix("Did you mean mail?\n"))
  }

  @Test func show_tellsAllOfAJob() async throws {
    let (sample, ids) = try await Sample.withJobs()
    let dead = try #require(ids[.dead])
    let ran = tool("show", sample.path, "\(dead)")
    #expect(ran.status == 0)
    for text in [
      "job       \(dead)", "kind      mail", "state     dead", "attempts  1 of 1", "error     550", "{\"to\":\"dead\"}",
      "failed    attempt 1, ",
    ] {
      #expect(ran.output.contains(text), "\(text) is missing: \(ran.output)")
    }
    for text in ["if it fails", "checkpoint", "waits for", "lapses"] { #expect(!ran.output.contains(text)) }
    try await sample.queue().transaction { db in
      try db.execute("UPDATE durable_jobs SET lapses = 3 WHERE id = ?", .integer(dead.rawValue))
    }
    #expect(tool("show", sample.path, "\(dead)").output.contains("lapses    3\n"))
    let json = try #require(
      (try tool("show", sample.path, "\(dead)", "--json").json() as? [[String: Any]])?.first)
    #expect(json["lapses"] as? Int == 3)
    #expect((json["failures"] as? [[String: Any]])?.map { $0["attempt"] as? Int } == [1])
  }

  @Test func show_namesThePrerequisites() async throws {
    let (sample, ids) = try await Sample.withJobs()
    let blocked = tool("show", sample.path, "\(try #require(ids[.blocked]))")
    #expect(blocked.output.contains("waits for  \(try #require(ids[.waiting]))\n"), "\(blocked.output)")
    let queue = try sample.queue()
    let many = try await queue.enqueue(contentsOf: (0..<23).map { Mail(to: "\($0)") })
    let id = try await queue.enqueue(Mail(to: "last"), options: JobOptions(dependsOn: many))
    let list = many.prefix(20).map(\.description).joined(separator: ", ")
    let shown = tool("show", sample.path, "\(id)")
    #expect(shown.output.contains("waits for  \(list) and 3 others\n"), "\(shown.output)")
  }

  @Test func show_tellsTheCheckpoint_andWhatHappensInTheEnd() async throws {
    let sample = try Sample()
    let queue = try sample.queue()
    try await queue.register(Mail.self) { (_, context) async throws in
      try await context.checkpoint(Data(count: 1500))
      throw Refusal()
    }
    let events = queue.events()
    queue.start()
    let id = try await queue.enqueue(Mail(to: "ada"), options: JobOptions(maxAttempts: 1, holdsAfterLastAttempt: true))
    for await event in events where event.kind == .held && event.jobID == id { break }
    await queue.stop()
    let ran = tool("show", sample.path, "\(id)")
    #expect(ran.output.contains("if it fails  held after its last attempt, not dead\n"), "\(ran.output)")
    #expect(ran.output.contains("checkpoint   1.5 KB, for its next attempt\n"), "\(ran.output)")
  }

  @Test func show_ofAJobThatIsNotThere_fails() async throws {
    let (sample, ids) = try await Sample.withJobs()
    let ran = tool("show", sample.path, "99", "\(try #require(ids[.done]).rawValue)", "--json")
    #expect(ran.status == 1)
    #expect(ran.errors == "durable-queue: There is no job #99. It may have been deleted, or done some time ago.\n")
    #expect((try ran.json() as? [Any])?.count == 1)
  }

  @Test func stats_countByKindAndState() async throws {
    let (sample, _) = try await Sample.withJobs()
    try await sample.queue().pause(kind: "resize")
    let ran = tool("stats", sample.path)
    #expect(ran.status == 0)
    let words = ran.lines.map { $0.split(separator: " ").map(String.init) }
    #expect(words[0].suffix(2) == ["7", "jobs"])
    #expect(words[1] == ["kind", "waiting", "scheduled", "blocked", "held", "cancelled", "dead", "done", "total"])
    #expect(words[2] == ["mail", "1", "-", "1", "1", "1", "1", "1", "6"])
    #expect(words[3] == ["resize", "-", "1", "-", "-", "-", "-", "-", "1", "paused"])
    #expect(words[4] == ["total", "1", "1", "1", "1", "1", "1", "1", "7"])
  }

  @Test func statsAsJSON_haveEveryState() async throws {
    let (sample, _) = try await Sample.withJobs()
    let statistics = try #require(try tool("stats", sample.path, "--json").json() as? [String: Any])
    #expect(Set(statistics.keys) == ["file", "bytes", "total", "approximate", "states", "kinds"])
    #expect(statistics["total"] as? Int == 7)
    let states = try #require(statistics["states"] as? [String: Int])
    #expect(Set(states.keys) == Set(JobState.allCases.map(\.description)))
    let kinds = try #require(statistics["kinds"] as? [[String: Any]])
    #expect(kinds.map { $0["kind"] as? String } == ["mail", "resize"])
    #expect(Set(kinds[0].keys) == ["kind", "paused", "limit", "total", "states"])
  }

  @Test func stats_ofAnEmptyQueue() throws {
    let sample = try Sample()
    _ = try sample.queue()
    #expect(tool("stats", sample.path).lines.first?.hasSuffix(", 0 jobs") == true)
    #expect(tool("list", sample.path).output == "No jobs.\n")
    #expect(tool("export", sample.path).output == "")
  }

  @Test func export_printsALineForEachJob() async throws {
    let (sample, ids) = try await Sample.withJobs()
    let ran = tool("export", sample.path)
    #expect(ran.status == 0)
    let jobs = try ran.lines.map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
    }
    #expect(jobs.compactMap { $0["id"] as? Int } == ids.values.map { Int($0.rawValue) }.sorted())
    for job in jobs {
      for key in ["id", "kind", "state", "majorPriority", "attempts", "version", "enqueuedAt", "payload"] {
        #expect(job[key] != nil, "\(key) is missing")
      }
    }
    #expect(tool("export", sample.path, "--json").output == ran.output)
    #expect(tool("export", sample.path, "--state", "scheduled").output.contains("\"payload\":{\"width\":2.5}"))
  }

  @Test func export_ofMoreThanAPage_isComplete() throws {
    let sample = try Sample()
    try sample.queue().enqueue(contentsOf: (0..<1203).map { Mail(to: "\($0)") })
    let ran = tool("export", sample.path)
    #expect(ran.lines.count == 1203)
    #expect(Set(ran.lines).count == 1203)
  }
}
