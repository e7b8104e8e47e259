import Testing
import WorkflowOperations

@testable import PhotoOrder

@Suite struct StandingTests {
  @Test func onlyAnExecutingTask_waitsOrIsHeld() {
    #expect(Standing(.executing, isCondition: false, isStopped: false) == .executing)
    #expect(Standing(.executing, isCondition: true, isStopped: false) == .waiting)
    #expect(Standing(.executing, isCondition: false, isStopped: true) == .held)
    #expect(Standing(.cancelled, isCondition: false, isStopped: true) == .cancelled)
    #expect(Standing(.ready, isCondition: true, isStopped: false) == .ready)
  }

  @Test(arguments: [
    (Standing.pending, nil), (.ready, Command.Action.start), (.executing, .cancel), (.waiting, .fulfill),
    (.held, .release), (.finished, .reset), (.failed, .retry), (.cancelled, .retry),
  ])
  func enter_doesWhatComesNext(_ standing: Standing, _ action: Command.Action?) {
    #expect(standing.nextAction == action)
  }
}
