import CompositeOperationsTestKit
import DurableOperations
import Foundation
import Testing

/// The stored form of a job changes from one version of a program to the next.
@Suite(.timeLimit(.minutes(30))) struct PayloadTests {
  private struct Mail1: Job {
    static let kind = "mail"
    var to: String
  }

  private struct Mail2: Job {
    static let kind = "mail"
    static let version = 2
    var recipients: [String]
  }

  private struct MailWithOptional: Job {
    static let kind = "mail"
    var to: String
    var subject: String?
  }

  private struct MailWithDefault: Job {
    static let kind = "mail"
    var to: String
    var copies = 1
  }

  private struct MailThatDecodesItself: Job {
    static let kind = "mail"
    var to: String
    var copies = 1

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      to = try container.decode(String.self, forKey: .to)
      copies = try container.decodeIfPresent(Int.self, forKey: .copies) ?? 1
    }
  }

  private func upgrade(_ data: Data, _ version: Int) throws -> Data {
    #expect(version == 1)
    let old = try JSONDecoder().decode(Mail1.self, from: data)
    return try JSONEncoder().encode(Mail2(recipients: [old.to]))
  }

  @Test(arguments: Engine.available) func older_isUpgraded(on engine: Engine) async throws {
    let queue = try DurableQueue(location: engine.location())
    let seen = EventRecorder<[String]>()
    try await queue.register(Mail2.self, upgrade: upgrade) { mail, _ in BlockOperation { seen.record(mail.recipients) }
    }
    try await queue.enqueue(Mail1(to: "ada"))
    try await queue.enqueue(Mail2(recipients: ["bob"]))
    queue.start()
    try await queue.waitUntilIdle()
    #expect(Set(seen.events) == [["ada"], ["bob"]])
    await queue.stop()
  }

  @Test func olderThanAProperty_decodesIfThatIsOptional_orDecodedIfPresent_notIfItHasADefaultAlone() async throws {
    func state<J: Job>(of type: J.Type) async throws -> JobState? {
      let queue = try DurableQueue(location: .memory)
      try await queue.register(type) { _, _ in BlockOperation {} }
      queue.start()
      let id = try await queue.enqueue(Mail1(to: "ada"))
      try await queue.waitUntilIdle()
      let record = try await queue.job(id)
      await queue.stop()
      return record?.state
    }
    #expect(try await state(of: MailWithOptional.self) == .done)
    #expect(try await state(of: MailThatDecodesItself.self) == .done)
    #expect(try await state(of: MailWithDefault.self) == .dead)
  }

  @Test func newer_isLeftWithTheReason_toAProgramThatKnowsIt() async throws {
    try await withDatabaseFile { file in
      let id: JobID
      do {
        let queue = try DurableQueue.patient(file)
        try await queue.register(Mail1.self) { _, _ in BlockOperation {} }
        id = try await queue.enqueue(Mail2(recipients: []))
        queue.start()
        try await queue.waitUntilIdle()
        let record = try await #require(try queue.job(id))
        #expect(record.state == .scheduled && record.attempts == 0)
        #expect(record.lastError?.contains("its version is 2, this one knows up to 1") == true)
        await queue.stop()
      }
      let queue = try DurableQueue.patient(file)
      try await queue.register(Mail2.self) { _, _ in BlockOperation {} }
      queue.start()
      try await queue.retry(id)
      try await queue.waitUntilIdle()
      #expect(try await queue.job(id)?.state == .done)
      await queue.stop()
    }
  }

  @Test(arguments: Engine.available) func newer_isPostponedAsItIs_itsCrashesLaneAndFailuresStay(on engine: Engine)
    async throws
  {
    let queue = try DurableQueue(location: engine.location())
    try await queue.register(Mail1.self) { _, _ in BlockOperation {} }
    let id = try await queue.enqueue(Mail2(recipients: []))
    let jobs = engine.table("jobs")
    // It has ended two programs that know it, and fails at times.
    try await queue.transaction { db in
      try db.execute("UPDATE \(jobs) SET crashes = 2, lapses = 1, lane = lane | 2, flags = flags | 64")
      _ = try db.execute(
        "INSERT INTO \(engine.table("errors")) (job, at, attempt, error) SELECT id, 5, 1, 'no network' FROM \(jobs)")
    }
    queue.start()
    try await queue.waitUntilIdle()
    let record = try await #require(try queue.job(id))
    #expect(record.state == .scheduled && record.attempts == 0)
    #expect(record.crashes == 2 && record.lapses == 1)
    #expect(record.failures.map(\.error) == ["no network"])
    #expect(record.lastError?.contains("its version is 2, this one knows up to 1") == true)
    let isAlone = try await queue.transaction { try $0.execute("SELECT lane & 2 FROM \(jobs)")[0][0].integerValue }
    #expect(isAlone == 2)
    await queue.stop()
  }

  @Test(arguments: Engine.available) func undecodable_isDeadAtOnceThoughItWouldBeHeld_andRetriable(on engine: Engine)
    async throws
  {
    let queue = try DurableQueue(location: engine.location())
    let isUpgraded = Flag()
    try await queue.register(
      Mail2.self,
      upgrade: { data, version in
        if !isUpgraded.isSet { throw TestFailure(text: "not yet") }
        return try self.upgrade(data, version)
      }
    ) { _, _ in BlockOperation {} }
    let events = queue.events()
    queue.start()
    let id = try await queue.enqueue(Mail1(to: "ada"), options: JobOptions(holdsAfterLastAttempt: true))
    try await queue.waitUntilIdle()
    let record = try await #require(try queue.job(id))
    #expect(record.state == .dead)
    #expect(record.attempts == 1)
    #expect(record.lastError?.contains("not yet") == true)
    isUpgraded.set()
    try await queue.retry(id)
    try await queue.waitUntilIdle()
    #expect(try await queue.job(id)?.state == .done)
    #expect(
      await texts(of: events, through: "done \(id)")
        == ["enqueued \(id)", "started \(id) 1", "dead \(id)", "started \(id) 1", "done \(id)"])
    await queue.stop()
  }

  @Test(arguments: Engine.available) func closureThatMakesTheOperationThrows_attemptFails(on engine: Engine)
    async throws
  {
    let harness = try Harness(engine.location())
    try await harness.queue.register(Count.self) { job, _ -> Operation in throw TestFailure(text: "no \(job.number)") }
    harness.queue.start()
    let id = try await harness.queue.enqueue(Count(number: 7), options: JobOptions(maxAttempts: 1))
    try await harness.queue.waitUntilIdle()
    #expect(try await harness.queue.job(id)?.state == .dead)
    #expect(try await harness.queue.job(id)?.lastError?.contains("no 7") == true)
    await harness.queue.stop()
  }
}
