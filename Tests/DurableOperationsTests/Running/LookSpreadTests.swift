import CompositeOperationsTestKit
import Foundation
import Testing

@testable import DurableOperations

/// Processes that share a server do not all look at it at the same time.
struct LookSpreadTests {
  @Test(arguments: [(0, 8), (0.5, 10), (1, 12)] as [(Double, Int)])
  func pause_isAFifthLessOrMore(_ place: Double, _ seconds: Int) {
    #expect(QueueCore.spread(.seconds(10), by: place) == .seconds(seconds))
  }

  @Test(arguments: Engine.available) func looksAreSpread_onAServer_byItsOwnClock(on engine: Engine) throws {
    var configuration = DurableQueue.Configuration()
    let queue = try DurableQueue(location: engine.location(), configuration: configuration)
    #expect(queue.core.database.isPaced == (engine == .postgres))
    configuration.clock = JobClock(ManualClock())
    let withClock = try DurableQueue(location: engine.location(), configuration: configuration)
    #expect(!withClock.core.database.isPaced)
  }
}
