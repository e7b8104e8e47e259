#if canImport(FoundationNetworking)
import CompositeOperations
import Foundation
import FoundationNetworking
import TestSupport
import Testing

@testable import HTTPOperations

@Suite("HTTP: the time of a request on Linux", .hangLimit) struct IdleTimerTests {
  private let clock = ManualClock()
  private let rings = EventRecorder<Duration>()

  private func timer(_ limit: Duration) -> IdleTimer {
    IdleTimer(limit: limit, clock: .of(clock))
  }

  private func start(_ timer: IdleTimer) {
    timer.start { [clock, rings] in rings.record(clock.now.offset) }
  }

  @Test func silence_forTheWholeTime_rings() async {
    let timer = timer(.milliseconds(200))
    start(timer)
    clock.advance(by: .milliseconds(200))
    await rings.wait(forCount: 1)
    timer.stop()
    #expect(rings.events == [.milliseconds(200)])
  }

  @Test func activity_putsItOff() async {
    let timer = timer(.seconds(10))
    start(timer)
    await clock.waitForSleeper(dueIn: .seconds(10))
    clock.advance(by: .seconds(9))
    timer.restart()
    clock.advance(by: .seconds(1))
    await clock.waitForSleeper(dueIn: .seconds(9))
    timer.restart()
    clock.advance(by: .seconds(9))
    await clock.waitForSleeper(dueIn: .seconds(1))
    #expect(rings.count == 0)
    clock.advance(by: .seconds(1))
    await rings.wait(forCount: 1)
    #expect(rings.events == [.seconds(20)])
    timer.stop()
  }

  @Test func timer_thatWasStopped_isSilent_andForgotten() async {
    let keeper = Timekeeper.of(clock)
    let (stopped, other) = (timer(.seconds(1)), timer(.seconds(2)))
    start(stopped)
    #expect(keeper.pendingCount == 1)
    stopped.stop()
    #expect(keeper.pendingCount == 0)
    start(stopped)
    #expect(keeper.pendingCount == 0)
    start(other)
    clock.advance(by: .seconds(2))
    await rings.wait(forCount: 1)
    #expect(rings.events == [.seconds(2)])
    other.stop()
  }

  @Test func requests_haveTheirOwnTime_orTheSessions() {
    func limit(_ timeout: TimeInterval) -> Duration? {
      IdleTimer(for: request("http://host") { $0.timeoutInterval = timeout }, sessionTimeout: 5)?.limit
    }
    #expect(limit(0.25) == .milliseconds(250) && limit(7) == .seconds(7) && limit(60) == .seconds(5))
    #expect(limit(0) == .zero && limit(-1) == .zero)
    #expect(limit(.infinity) == nil && limit(.greatestFiniteMagnitude) == nil && limit(.nan) == nil)
  }
}
#endif
