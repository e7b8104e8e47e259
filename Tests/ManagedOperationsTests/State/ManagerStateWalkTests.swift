import TestSupport
import Testing

@testable import ManagedOperations

@Suite("6 Random walks of a manager's state", .timeLimit(.minutes(30)))
struct ManagerStateWalkTests {
  @Test("Whatever happens in whatever order, every task settles once, and nothing is left", arguments: 0..<20)
  func walk_anyOrder_everythingSettlesOnce(block: UInt64) {
    for seed in (block * 25)..<(block * 25 + 25) {
      var world = ManagerWorld(seed: seed)
      for _ in 0..<150 {
        let id = world.ids.randomElement(using: &world.random)
        switch Int.random(in: 0..<24, using: &world.random) {
        case 0...4:
          world.add()
          if !world.chance(4) { world.start(world.ids.count) }
        case 5: if let id { world.start(id) }
        case 6: if let id { world.cancel(id) }
        case 7: if let id, world.chance(3) { world.settleFromOutside(id) }
        case 8: world.releaseBatch()
        case 9: if world.chance(3) { world.toggleSuspension() }
        case 10: if world.chance(60) { world.close(world.chance(2) ? .stopped : .released) }
        default: _ = world.step()
        }
      }
      world.finish()
      #expect(world.complaints == [], "seed \(seed)")
    }
  }
}
