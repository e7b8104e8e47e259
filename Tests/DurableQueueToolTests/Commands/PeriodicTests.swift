import DurableOperations
import Foundation
import TestSupport
import Testing

@testable import DurableQueueTool

@Suite(.timeLimit(.minutes(30))) struct PeriodicTests {
  /// A file with periodic jobs.
  private func withSchedules() throws -> (sample: Sample, queue: DurableQueue) {
    let sample = try Sample()
    let queue = try sample.queue()
    let berlin = try #require(TimeZone(identifier: "Europe/Berlin"))
    try queue.schedule(Mail(to: "all"), named: "nightly", try .cron("30 2 * * *", timeZone: berlin), catchUp: .all)
    try queue.schedule(Resize(width: 1), named: "often", .interval(.seconds(90)))
    let start = Date(timeIntervalSince1970: 4_000_000_000)
    try queue.schedule(Resize(width: 2), named: "some day", .interval(.seconds(7 * 86_400), startingAt: start))
    try queue.schedule(Mail(to: "none"), named: "there is\nno such day", try .cron("0 0 29 2 *", timeZone: .gmt))
    try queue.transaction { try $0.execute("UPDATE durable_periodic SET next_at = NULL WHERE name LIKE 'there%'") }
    return (sample, queue)
  }

  /// Passwords are hidden in what is shown, and not in what is looked up.
  @Test(arguments: [
    "https://example.org/feed?ids%5B%5D=3", "https://example.org:8443/@ada/feed", "mirror postgres://app:secret@db/x",
  ])
  func name_thatIsAnAddress_isTakenAsItIs(_ name: String) throws {
    let sample = try Sample()
    let queue = try sample.queue()
    try queue.schedule(Mail(to: "all"), named: name, .interval(.seconds(60)))
    #expect(tool("unschedule", sample.path, name).status == 0)
    #expect(try queue.periodicJobs().isEmpty)
    #expect(tool("pause", sample.path, name, "--new").status == 0)
    #expect(try queue.counts().kinds.contains { $0.kind == name && $0.isPaused })
  }

  @Test(arguments: [
    "https://ada:secret@example.org/feed", "sslmode=require postgresql://app:secret@db/x",
    "jdbc:postgresql://app:secret@db/x", "DATABASE_URL=postgres://app:secret@db/x",
  ])
  func unknownName_withAPassword_showsNone(_ name: String) throws {
    let sample = try Sample()
    _ = try sample.queue()
    for verb in ["unschedule", "pause", "resume"] {
      let ran = tool(verb, sample.path, name, "--json")
      #expect(ran.status == 1 && !"\(ran)".contains("secret"), "\(ran)")
    }
  }

  @Test func periodic_showsNamesKindsSchedulesAndTimes() throws {
    let (sample, queue) = try withSchedules()
    let ran = tool("periodic", sample.path, now: Date(timeIntervalSince1970: 4_000_000_000 - 7200))
    #expect(ran.status == 0)
    #expect(ran.lines.count == 5)
    #expect(ran.lines[0].split(separator: " ") == ["name", "kind", "schedule", "next"])
    let next = try #require(try queue.periodicJobs().first?.nextAt).formatted(.iso8601).dropLast()
    #expect(ran.lines[1].hasPrefix("nightly "), "\(ran.lines[1])")
    #expect(ran.lines[1].contains(" mail  "), "\(ran.lines[1])")
    #expect(ran.lines[1].contains("30 2 * * * in Europe/Berlin  "), "\(ran.lines[1])")
    #expect(ran.lines[1].contains(next), "\(ran.lines[1])")
    #expect(ran.lines[2].contains("every 90 s  "), "\(ran.lines[2])")
    #expect(ran.lines[3].contains("every 7 days from 2096-10-02T07:06:40.000Z  "), "\(ran.lines[3])")
    #expect(ran.lines[3].hasSuffix("in 2 h"), "\(ran.lines[3])")
    #expect(ran.lines[4].hasPrefix("there is no such day "), "\(ran.lines[4])")
    #expect(ran.lines[4].hasSuffix("never"), "\(ran.lines[4])")
    let narrow = tool("periodic", sample.path, width: 40)
    #expect(narrow.lines.allSatisfy { $0.count <= 40 })
  }

  @Test func periodicAsJSON_hasTheSchedules() throws {
    let (sample, _) = try withSchedules()
    let jobs = try #require(try tool("periodic", sample.path, "--json").json() as? [[String: Any]])
    #expect(jobs.map { $0["name"] as? String } == ["nightly", "often", "some day", "there is\nno such day"])
    for job in jobs { #expect(Set(job.keys) == ["name", "kind", "schedule", "catchUp", "nextAt"]) }
    #expect(jobs.map { $0["catchUp"] as? String } == ["all", "latest", "latest", "latest"])
    let schedules = try #require(jobs.map { $0["schedule"] } as? [[String: Any]])
    #expect(schedules[0] as? [String: String] == ["cron": "30 2 * * *", "timeZone": "Europe/Berlin"])
    #expect(schedules[1] as? [String: Int] == ["everyMilliseconds": 90_000])
    #expect(Set(schedules[2].keys) == ["everyMilliseconds", "startsAt"])
    #expect(jobs[2]["nextAt"] as? String == "2096-10-02T07:06:40.000Z")
    #expect(jobs[3]["nextAt"] is NSNull)
  }

  @Test func periodic_ofAQueueWithoutAny() throws {
    let sample = try Sample()
    _ = try sample.queue()
    #expect(tool("periodic", sample.path).output == "No periodic jobs.\n")
    #expect(tool("periodic", sample.path, "--json").output == "[]\n")
  }

  @Test func unschedule_hasJobsNotEnqueuedAnyMore() throws {
    let (sample, queue) = try withSchedules()
    let ran = tool("unschedule", sample.path, "often", "some day")
    #expect(ran.status == 0)
    #expect(ran.output == "often  unscheduled\nsome day  unscheduled\n")
    #expect(try queue.periodicJobs().count == 2)
  }

  @Test func unscheduleOfAnUnknownName_fails_andKeepsNoOtherFromIt() throws {
    let (sample, queue) = try withSchedules()
    let ran = tool("unschedule", sample.path, "nightli", "often", "elsewhere", "--json")
    #expect(ran.status == 1)
    #expect(
      ran.errors.split(separator: "\n") == [
        "durable-queue: There is no periodic job “nightli”. Did you mean “nightly”?",
        "durable-queue: There is no periodic job “elsewhere”. `durable-queue periodic PLACE` lists those that there are.",
      ])
    let result = try #require(try ran.json() as? [String: Any])
    #expect(result["command"] as? String == "unschedule")
    #expect(result["names"] as? [String] == ["often"])
    #expect((result["failures"] as? [[String: String]])?.map { $0["name"] } == ["nightli", "elsewhere"])
    #expect(try queue.periodicJobs().count == 3)
  }

  @Test func scheduleThatCanNotBeRead_isToldOf_andCanBeUnscheduled() throws {
    let (sample, queue) = try withSchedules()
    _ = try queue.transaction { db in
      try db.execute(
        "UPDATE durable_periodic SET schedule = ? WHERE name = 'often'",
        [.text("{\"cron\":\"* * * * *\",\"timeZone\":\"Middle/Earth\"}")])
    }
    let ran = tool("periodic", sample.path)
    #expect(ran.status == 1)
    #expect(
      ran.errors.hasPrefix(
        "durable-queue: \(sample.path): The periodic job “often” cannot be read (The time zone “Middle/Earth”"),
      "\(ran.errors)")
    // DUR-14: it hides no other.
    #expect(ran.lines.map { $0.prefix(5) } == ["name ", "night", "some ", "there"])
    let json = tool("periodic", sample.path, "--json")
    #expect(json.status == 1 && json.errors == ran.errors)
    #expect((try json.json() as? [[String: Any]])?.count == 3)
    #expect(tool("unschedule", sample.path, "often").status == 0)
    #expect(tool("periodic", sample.path).status == 0)
  }
}
