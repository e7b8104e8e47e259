import TestSupport
import Testing

@testable import PhotoOrder

@Suite struct HoldsTests {
  @Test func task_atItsHold_stopsUntilItIsReleased() {
    let holds = Holds()
    let events = EventRecorder<String>()
    holds.whenStopped = { events.record("stopped") }
    holds.hold("a", at: 0.5)
    #expect(!holds.stops("a", at: 0.4) { events.record("early") })
    #expect(!holds.stops("b", at: 0.9) { events.record("other") })
    #expect(!holds.isStopped("a"))
    #expect(holds.stops("a", at: 0.5) { events.record("resumed") })
    #expect(holds.isHeld("a") && holds.isStopped("a"))
    #expect(events.events == ["stopped"])
    #expect(holds.release("a"))
    #expect(!holds.release("a"))
    #expect(events.events == ["stopped", "resumed"])
    #expect(!holds.isHeld("a") && !holds.isStopped("a"))
    #expect(!holds.stops("a", at: 1) { events.record("late") })
  }

  @Test func woken_theHoldStays() {
    let holds = Holds()
    let resumed = Locked(0)
    holds.hold("a", at: 0)
    for _ in 0..<2 { #expect(holds.stops("a", at: 0) { resumed.increment() }) }
    holds.wake("a")
    holds.wake("a")
    #expect(resumed.current == 2)
    #expect(holds.isHeld("a") && !holds.isStopped("a"))
    #expect(holds.stops("a", at: 0) { resumed.increment() })
  }
}
