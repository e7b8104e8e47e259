#if os(macOS) || os(Linux)
import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// DUR-1: periodic jobs of several processes, whatever clocks, locks and stopped processes do.
@Suite(.timeLimit(.minutes(30))) struct PeriodicProcessesTests {
  /// The date of all processes: what is added to the machine's.
  private struct SharedDate {
    let path: String
    private let file: Int32

    init(beside database: URL) throws {
      path = database.deletingLastPathComponent().appending(path: "clock").path
      file = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
      set(0)
    }

    func set(_ shift: Double) {
      var shift = shift
      let count = pwrite(file, &shift, MemoryLayout<Double>.size, 0)
      precondition(count == MemoryLayout<Double>.size)
    }

    func end() { close(file) }
  }

  /// A jump of years begins the periodic job anew, so which times there have to be is known only
  /// without them.
  @Test(
    "Clocks that are set, locks that are held and processes that stand still: each time is enqueued once, and none is left out",
    arguments: [true, false])
  func randomFaults_enqueueEachTimeOnce(jumpsOverYears: Bool) async throws {
    try await withDatabaseFile { file in
      var generator = SeededRandomNumberGenerator(seed: 0xC10C)
      let date = try SharedDate(beside: file)
      defer { date.end() }
      let children = try (0..<4).map { _ in
        try DurableChild(file, "lease=60", "poll=20", "durability=normal", "clock=\(date.path)")
      }
      await children[0].tell("schedule 250", until: "did schedule")
      await children[0].tell("latest 200", until: "did latest")
      for child in children { await child.tell("start", until: "started") }
      let inspection = try Inspection(file)
      var shift = 0.0
      let year = 365 * 86_400.0
      func enqueued() throws -> Int64 {
        try inspection.numbers("SELECT coalesce(max(id), 0) FROM durable_jobs")[0]
      }
      var jumps = 0.0
      for step in 0..<Scale.count(1000, least: 50) {
        switch Int.random(in: 0..<5, using: &generator) {
        case 0:
          shift += Double.random(in: -40...40, using: &generator)
          date.set(shift)
        case 1 where jumpsOverYears && step % 7 == 0:
          // The many times in between are not all caught up with: that would be millions.
          await children[0].tell("unschedule", until: "did unschedule")
          // Never to an earlier date: a forgotten time from long ago would come again.
          jumps += 1
          shift = (Bool.random(using: &generator) ? 10 : -10) * year + jumps * 86_400
          date.set(shift)
          await children[0].tell("schedule 250", until: "did schedule")
        case 2:
          // The date is set while all others wait for the lock.
          try inspection.connection.transaction {
            Fault.lasts(1...30, using: &generator)
            shift += Double.random(in: -20...20, using: &generator)
            date.set(shift)
            Fault.lasts(0...5, using: &generator)
          }
        case 3:
          let child = children.randomElement(using: &generator)!
          child.signal(SIGSTOP)
          Fault.lasts(1...150, using: &generator)
          child.signal(SIGCONT)
        default:
          // Until something happens. What was before the date was set back does not happen again,
          // so it has to go on.
          let before = try enqueued()
          while try enqueued() == before {
            shift += 0.5
            date.set(shift)
            Fault.lasts(2...5, using: &generator)
          }
        }
      }
      for child in children { child.signal(SIGCONT) }
      let twice = try inspection.connection.execute(
        """
        SELECT CAST(payload AS TEXT), occurrence, count(*) AS times FROM durable_jobs WHERE occurrence IS NOT NULL
        GROUP BY 1, 2 HAVING times > 1
        """)
      #expect(twice.isEmpty, "\(twice.prefix(5).map(\.values))")
      if !jumpsOverYears {
        // A time that the clock has not come to again may still be missing; so it comes to all of
        // them.
        let caughtUp = "occurrence IS NOT NULL AND CAST(payload AS TEXT) NOT LIKE '%latest%'"
        func lastTime() throws -> Int64 {
          try inspection.numbers("SELECT coalesce(max(occurrence), 0) FROM durable_jobs WHERE \(caughtUp)")[0]
        }
        let last = try lastTime()
        let ahead = Date(timeIntervalSince1970: Double(last) / 1000).timeIntervalSinceNow
        date.set(max(ahead, shift) + 10)
        while try lastTime() == last {
          Fault.lasts(2...5, using: &generator)
        }
        let times = try inspection.numbers("SELECT occurrence FROM durable_jobs WHERE \(caughtUp) ORDER BY occurrence")
        #expect(times == (0..<times.count).map { times[0] + 250 * Int64($0) })
      }
      #expect(try inspection.integrity() == "ok")
      for child in children { await child.exit() }
    }
  }
}
#endif
