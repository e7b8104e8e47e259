import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

@Suite("8 The observers of one operation", .hangLimit)
struct ObserverStateTests {
  @Test("A mailbox that is never empty does not grow")
  func delivery_neverEmpty_doesNotGrow() throws {
    var state = ObserverState()
    _ = state.post(.started)
    for _ in 0..<100_000 {
      _ = state.post(.cancelled)
      #expect(state.nextDelivery() != nil)
    }
    let stored = Mirror(reflecting: state).descendant("mailbox", "places") as? [ObserverState.Delivery]
    #expect(try #require(stored).count < 4_000)
    #expect(state.nextDelivery() != nil && state.nextDelivery() == nil && !state.isDelivering)
  }
}
