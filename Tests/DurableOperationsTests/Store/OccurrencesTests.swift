import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// DUR-1: which times of a periodic job took place, while the clock is set back and forth.
@Suite struct OccurrencesTests {
  private static let start: Int64 = 1_700_000_000_000

  private func harness(on engine: Engine, _ schedule: JobSchedule, _ catchUp: JobCatchUp) throws -> StoreHarness {
    let harness = try StoreHarness(on: engine)
    try self.schedule(on: harness, schedule, catchUp)
    return harness
  }

  private func schedule(
    on harness: StoreHarness, _ schedule: JobSchedule, _ catchUp: JobCatchUp, at now: Int64 = Self.start
  ) throws {
    harness.setDate(now)
    try harness.session { try $0.schedule(StoreHarness.job(), named: "tick", schedule, catchUp) }
  }

  private func look(_ harness: StoreHarness, at now: Int64) throws -> [Int64] {
    harness.setDate(now)
    return try harness.session { session in
      guard try session.look(StoreLook(kinds: [])).arePeriodicJobsDue else { return [] }
      return try session.enqueueOccurrences().enqueued.compactMap(\.occurrence)
    }
  }

  private func runs(_ harness: StoreHarness) throws -> Int64 {
    try harness.number("SELECT count(*) FROM \(harness.engine.table("occurrences"))") ?? -1
  }

  @Test(arguments: Engine.available, [JobCatchUp.latest, .all])
  func dateWalks_eachTimeTakesPlaceOnce(on engine: Engine, _ catchUp: JobCatchUp) throws {
    let harness = try harness(on: engine, .interval(.seconds(1)), catchUp)
    var generator = SeededRandomNumberGenerator(seed: 14)
    var now = Self.start
    var seen: Set<Int64> = []
    let step: Int64 = catchUp == .latest ? 4_000_000 : engine == .sqlite ? 400_000 : 20_000
    let rounds = engine == .sqlite ? Scale.count(3_000, least: 1_100) : 150
    for _ in 0..<rounds {
      now += Int64.random(in: -step...step, using: &generator)
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        now += Int64.random(in: 0...2_500, using: &generator)
        for time in try look(harness, at: now) {
          #expect(seen.insert(time).inserted, "\(time - Self.start) took place twice")
        }
      }
    }
    // A thousand times would not have been enough to remember.
    #expect(seen.count > rounds)
  }

  @Test(arguments: Engine.available) func clockGoesOn_oneRunIsRemembered(on engine: Engine) throws {
    let harness = try harness(on: engine, .interval(.seconds(1), startingAt: Date(milliseconds: Self.start)), .all)
    for second in 1...50 { _ = try look(harness, at: Self.start + Int64(second) * 1_700) }
    #expect(try runs(harness) == 1)
  }

  @Test(arguments: Engine.available) func gapBetweenTwoRuns_isFilled_oneRunIsLeft(on engine: Engine) throws {
    let harness = try harness(on: engine, .interval(.seconds(1), startingAt: Date(milliseconds: Self.start)), .latest)
    // Ten minutes ahead by mistake, and back.
    #expect(try look(harness, at: Self.start + 600_000) == [Self.start + 600_000])
    var seen: [Int64] = []
    for second in 0...700 { seen += try look(harness, at: Self.start + Int64(second) * 1_000) }
    // The clock was here before, at the time that is left out.
    #expect(seen == (1...700).filter { $0 != 600 }.map { Self.start + $0 * 1_000 })
    #expect(try runs(harness) == 1)
  }

  @Test(arguments: Engine.available) func anotherSchedule_beginsAnew(on engine: Engine) throws {
    let harness = try harness(on: engine, .interval(.seconds(1), startingAt: Date(milliseconds: Self.start)), .all)
    #expect(try look(harness, at: Self.start + 5_000).count == 5)
    try schedule(on: harness, .interval(.seconds(1), startingAt: Date(milliseconds: Self.start)), .all)
    #expect(try runs(harness) == 1)
    try schedule(on: harness, .interval(.milliseconds(500), startingAt: Date(milliseconds: Self.start)), .all)
    #expect(try runs(harness) == 0)
    #expect(try look(harness, at: Self.start + 2_000) == (1...4).map { Self.start + $0 * 500 })
  }
}
