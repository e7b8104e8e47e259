import CompositeOperations
import Foundation
import ManagedOperations
import TestSupport
import Testing

@Suite("6 Watching a manager", .timeLimit(.minutes(30))) struct WatchingTests {
  @Test("What a log handler does takes effect before it returns, also when it is told of the end")
  func logHandler_usesOperations_theyReactAtOnce() async {
    let manager = OperationManager(clock: ManualClock())
    let other = OperationManager(clock: ManualClock())
    let wasSettled = EventRecorder<Bool>()
    manager.setLogHandler { message in
      guard message.category == .tasks else { return }
      let group = other.add(contentsOf: [Number(1), Number(2)], startImmediately: false)
      group.cancel()
      wasSettled.record(group.outcome?.isCancelled == true)
    }
    manager.add(Number(1))
    await wasSettled.wait(forCount: 3)
    #expect(wasSettled.events == [true, true, true])
  }

  @Test("A completion that takes its time holds up no event of another task")
  func blockingCompletion_holdsUpNoEvent() async {
    let manager = OperationManager(clock: ManualClock())
    let release = Gate()
    let blocked = Gate()
    let finished = EventRecorder<Int>()
    manager.setLogHandler { message in
      if message.text.contains("finished") { finished.record(message.taskIdentifier) }
    }
    let slow = manager.add(Number(1), startImmediately: false)
    slow.completion = { _ in
      blocked.open()
      release.waitBlocking()
    }
    slow.start()
    await blocked.wait()
    let next = manager.add(Number(2))
    await finished.wait(forCount: 1)
    #expect(finished.events == [next.identifier])
    release.open()
    await finished.wait(forCount: 2)
    #expect(finished.events == [next.identifier, slow.identifier])
  }
}
