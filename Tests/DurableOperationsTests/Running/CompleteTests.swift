import CompositeOperations
import CompositeOperationsTestKit
import Foundation
import Testing

@testable import DurableOperations

/// Checkpoints, heartbeats, and finishing a job together with writes of the user's.
@Suite(.timeLimit(.minutes(30))) struct CompleteTests {
  @Test(arguments: Engine.available) func completed_writesAndJobTogether_whateverTheOperationDoes(on engine: Engine)
    async throws
  {
    let queue = try DurableQueue(location: engine.location())
    try await queue.transaction { _ = try $0.execute("CREATE TABLE sent (number INTEGER)") }
    try await queue.register(Count.self) { job, context async throws in
      try await context.complete { db in
        try db.execute("INSERT INTO sent VALUES (?)", SQLValue(job.number))
        try db.enqueue(Send(text: "next"))
      }
      #expect(jobErrorReason { try context.complete { _ in } } == .wrongState(.done))
      #expect(jobErrorReason { try context.checkpoint(Data()) } == .wrongState(.done))
      throw TestFailure()
    }
    let events = queue.events()
    queue.start()
    let id = try await queue.enqueue(Count(number: 7), options: JobOptions(maxAttempts: 1))
    let dependent = try await queue.enqueue(Send(text: "after"), options: JobOptions(dependsOn: [id]))
    try await queue.waitUntilIdle()
    await queue.stop()
    #expect(try await queue.job(id)?.state == .done)
    #expect(try await queue.job(id)?.attempts == 1)
    #expect(try await queue.job(dependent)?.state == .waiting)
    #expect(try await queue.counts()["send"]?[.waiting] == 2)
    #expect(try await queue.transaction { try $0.execute("SELECT number FROM sent") }.map { $0[0].integerValue } == [7])
    // A look may find what the job has stored, whose kind is not registered, before the dependent
    // is stored.
    let texts = await texts(of: events, through: "enqueued #3")
      .filter { !$0.hasPrefix("enqueued #2") && !$0.hasPrefix("unknownKind ") }
    #expect(texts == ["enqueued #1", "started #1 1", "done #1", "enqueued #3"])
  }

  @Test(arguments: Engine.available) func rolledBackByAStatement_writesAreNotDoubled(on engine: Engine) async throws {
    var configuration = DurableQueue.Configuration()
    configuration.backoff = .noDelay
    let queue = try DurableQueue(location: engine.location(), configuration: configuration)
    try await queue.transaction { db in
      _ = try db.execute("CREATE TABLE sent (number INTEGER PRIMARY KEY, count INTEGER)")
      _ = try db.execute("INSERT INTO sent VALUES (1, 0)")
    }
    try await queue.register(Count.self) { _, context async throws in
      try await context.complete { db in
        if context.attempt == 1 { _ = try? db.execute("INSERT OR ROLLBACK INTO sent VALUES (1, 5)") }
        try db.execute("UPDATE sent SET count = count + 1")
      }
    }
    queue.start()
    let id = try await queue.enqueue(Count(number: 1))
    #expect(try await queue.waitUntilSettled(id)?.state == .done)
    #expect(try await queue.transaction { try $0.execute("SELECT count FROM sent") }[0][0].integerValue == 1)
    await queue.stop()
  }

  @Test(arguments: Engine.available) func throwsInside_notDone(on engine: Engine) async throws {
    let harness = try Harness(engine.location())
    try await harness.queue.transaction { _ = try $0.execute("CREATE TABLE sent (number INTEGER)") }
    try await harness.queue.register(Count.self) { job, context async throws in
      try await context.complete { db in
        try db.execute("INSERT INTO sent VALUES (?)", SQLValue(job.number))
        throw TestFailure()
      }
    }
    harness.queue.start()
    let id = try await harness.queue.enqueue(Count(number: 7), options: JobOptions(maxAttempts: 1))
    try await harness.queue.waitUntilIdle()
    #expect(try await harness.queue.job(id)?.state == .dead)
    #expect(try await harness.queue.transaction { try $0.execute("SELECT * FROM sent") }.isEmpty)
    await harness.queue.stop()
  }

  @Test func checkpoint_isFoundByTheNextAttempt_andAfterARelaunch_andGoneWhenDone() async throws {
    try await withDatabaseFile { file in
      let id: JobID
      do {
        let harness = try Harness(.file(file))
        try await harness.queue.register(Count.self) { _, context async throws in
          let number = (context.checkpoint?.first ?? 0) + 1
          try await context.checkpoint(Data([number]))
          #expect(context.checkpoint == Data([number]))
          if number == 2 { throw PermanentJobFailure(TestFailure()) }
          throw TestFailure()
        }
        harness.queue.start()
        id = try await harness.queue.enqueue(Count(number: 1), options: JobOptions(backoff: .noDelay))
        await harness.wait(for: .dead, of: id)
        #expect(try await harness.queue.job(id)?.checkpointSize == 1)
        await harness.queue.stop()
      }
      let harness = try Harness(.file(file))
      let seen = EventRecorder<Data?>()
      try await harness.queue.register(Count.self) { _, context in
        seen.record(context.checkpoint)
        return BlockOperation {}
      }
      harness.queue.start()
      try await harness.queue.retry(id)
      try await harness.queue.waitUntilIdle()
      #expect(seen.events == [Data([2])])
      #expect(try await harness.queue.job(id)?.checkpointSize == nil)
      let left = try await harness.queue.transaction { try $0.execute("SELECT * FROM durable_checkpoints") }
      #expect(left.isEmpty)
      await harness.queue.stop()
    }
  }

  @Test(arguments: Engine.available) func heartbeat_holdsAsLongAsTheJobIsHere(on engine: Engine) async throws {
    let queue = try DurableQueue(location: engine.location())
    let kept = EventRecorder<Int64>(), box = Contexts()
    try await queue.register(Count.self) { _, context async throws in
      try await context.heartbeat()
      try await context.checkpoint(Data([1]))
      try await context.checkpoint(nil)
      context.reportProgress(0.5)
      box.add(context)
      kept.record(context.id.rawValue)
    }
    // The forms for operations.
    try await queue.register(Send.self) { _, context in
      SimpleOperation<Void> { operation in
        do {
          try context.heartbeat()
          try context.checkpoint(Data([2]))
          try context.complete { _ in }
          operation.reject(with: TestFailure())
        } catch {
          operation.reject(with: error)
        }
      }
    }
    queue.start()
    let id = try await queue.enqueue(Count(number: 1))
    let other = try await queue.enqueue(Send(text: "by an operation"), options: JobOptions(maxAttempts: 1))
    try await queue.waitUntilIdle()
    #expect(kept.events == [id.rawValue])
    #expect(try await queue.job(other)?.state == .done)
    #expect(try await queue.job(other)?.checkpointSize == nil)
    let context = try #require(box.all.first)
    // No other process has the job.
    #expect(jobErrorReason { try context.heartbeat() } == .attemptEnded)
    #expect(jobErrorReason { try context.checkpoint(Data()) } == .attemptEnded)
    #expect(jobErrorReason { try context.complete { _ in } } == .attemptEnded)
    await queue.stop()
  }

  @Test(arguments: Engine.available) func attemptWasReturnedByASuspension_itsContextSaysThatItEnded(on engine: Engine)
    async throws
  {
    let queue = try DurableQueue(location: engine.location())
    let box = Contexts(), operation = NeverFinishingOperation<Void>(holdsOn: true), isFirst = Flag()
    try await queue.register(Count.self) { _, context in
      if isFirst.isSet { return BlockOperation {} }
      isFirst.set()
      box.add(context)
      return operation
    }
    queue.start()
    let id = try await queue.enqueue(Count(number: 1))
    await operation.started.wait()
    await queue.suspend()
    queue.resume()
    #expect(try await queue.waitUntilSettled(id)?.state == .done)
    let context = try #require(box.all.first)
    #expect(jobErrorReason { try context.checkpoint(Data()) } == .attemptEnded)
    operation.release()
    await queue.stop()
  }

  @Test func checkpoint_thatIsReplaced_itsDeallocatorMayReadTheContext() async throws {
    let queue = try DurableQueue(location: .memory), seen = EventRecorder<Data?>()
    try await queue.register(Count.self) { _, context async throws in
      func store() throws {
        let bytes = UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 1)
        bytes.initializeMemory(as: UInt8.self, repeating: 1, count: 64)
        let deallocator = Data.Deallocator.custom { pointer, _ in
          pointer.deallocate()
          seen.record(context.checkpoint)
        }
        try context.checkpoint(Data(bytesNoCopy: bytes, count: 64, deallocator: deallocator))
      }
      try store()
      try await context.checkpoint(nil)
    }
    queue.start()
    try await queue.enqueue(Count(number: 1))
    await seen.wait(forCount: 1)
    #expect(seen.events == [nil])
    await queue.stop()
  }
}
