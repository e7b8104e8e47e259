#if os(Linux)
import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// Random faults for minutes: `Tests/Scripts/soak` runs it.
@Suite(.enabled(if: Soak.seconds > 0, "SOAK_SECONDS says for how long")) struct SoakTests {
  @Test func randomFaults_loseNothing_andMemoryStaysFlat() async throws {
    try await withDatabaseFile { file in
      let clock = file.deletingLastPathComponent().appending(path: "clock").path
      _ = FileManager.default.createFile(atPath: clock, contents: Data(count: 8))
      let date = try #require(FileHandle(forUpdatingAtPath: clock))
      var generator = SystemRandomNumberGenerator(), shift = 0.0
      func start() async throws -> DurableChild {
        let child = try DurableChild(file, "lease=500", "poll=20", "durability=normal", "clock=\(clock)")
        await child.tell("start", until: "started")
        return child
      }
      // The last one is neither killed nor stopped, so that its memory tells something.
      var children = [try await start(), try await start(), try await start()]
      let inspection = try Inspection(file), memory = ResidentMemory()
      var enqueued: Set<Int64> = [], faults: [String: Int] = [:]
      await children[2].tell("schedule 250", until: "did schedule")
      let end = ContinuousClock.now + .seconds(Soak.seconds)
      var next = ContinuousClock.now
      while ContinuousClock.now < end {
        if ContinuousClock.now >= next {
          next += .seconds(2)
          memory.sample([children[2].processID])
        }
        let number = Int.random(in: 0..<2, using: &generator)
        let fault = ["work", "kill", "stop", "lock", "date", "full", "suspend", "work"].randomElement(
          using: &generator)!
        faults[fault, default: 0] += 1
        switch fault {
        case "kill":
          await children[number].killAndWait()
          enqueued.formUnion(children[number].numbers(after: "enqueued"))
          children[number] = try await start()
        case "stop":
          children[number].signal(SIGSTOP)
          Fault.lasts(1...700, using: &generator)
          children[number].signal(SIGCONT)
        case "lock":
          try inspection.connection.transaction {
            Fault.lasts(1...50, using: &generator)
          }
        case "date":
          shift += Double.random(in: -30...30, using: &generator)
          try date.seek(toOffset: 0)
          try date.write(contentsOf: withUnsafeBytes(of: &shift) { Data($0) })
        case "full":
          await children[number].tell("limit 4096", until: "did limit")
          children[number].tell("enqueue 3 run")
          Fault.lasts(1...50, using: &generator)
          await children[number].tell("limit none", until: "did limit")
        case "suspend":
          await children[number].tell("suspend", until: "did suspend")
          Fault.lasts(1...50, using: &generator)
          await children[number].tell("unsuspend", until: "did unsuspend")
        default:
          children[2].tell("enqueue 20 run")
          children[number].tell("enqueue 20 run")
        }
      }
      await children[2].tell("unschedule", until: "did unschedule")
      for child in children {
        await child.tell("settle", until: "settled")
        enqueued.formUnion(child.numbers(after: "enqueued"))
        await child.exit()
      }
      let done = try inspection.ids(in: .done)
      let others = try inspection.connection.execute(
        "SELECT state, count(*) FROM durable_jobs WHERE state <> 7 GROUP BY 1")
      let twice = try inspection.numbers(
        "SELECT count(*) FROM (SELECT 1 FROM durable_jobs WHERE occurrence IS NOT NULL GROUP BY occurrence HAVING count(*) > 1)"
      )
      print(
        "durable work: \(faults.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))")
      print(
        "  enqueued \(enqueued.count), done \(done.count), lost \(enqueued.subtracting(done).count), twice \(twice)")
      print("  memory in bytes, first and last third: \(memory.growth)")
      #expect(enqueued.subtracting(done).isEmpty && others.isEmpty && twice == [0])
      #expect(try inspection.integrity() == "ok" && inspection.hasRightCounts())
      for (first, last) in memory.growth { #expect(last < first + first / 4 + 8 << 20) }
    }
  }
}
#endif
