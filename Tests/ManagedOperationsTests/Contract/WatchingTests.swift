import CompositeOperations
import Foundation
import ManagedOperations
import TestSupport
import Testing

@Suite("6 Watching a manager", .timeLimit(.minutes(30))) struct WatchingTests {
  @Test("A completion that takes its time holds up no event of another task")
  func blockingCompletion_holdsUpNoEvent() async {
    let manager = OperationManager(clock: ManualClock())
    let release = Gate()
    let blocked = Gate()
    let finished = EventRecorder<Int>()
    let events = manager.events()
    Task { for await event in events where event.kind == .finished { finished.record(event.taskID) } }
    let slow = manager.add(Number(1), startImmediately: false)
    slow.completion = { _ in
      blocked.open()
      release.waitBlocking()
    }
    slow.start()
    await blocked.wait()
    let next = manager.add(Number(2))
    await finished.wait(forCount: 1)
    #expect(finished.events == [next.id])
    release.open()
    await finished.wait(forCount: 2)
    #expect(finished.events == [next.id, slow.id])
  }

  @Test func event_ofAnErrorWithLineEndsAndControlCharacters_isDescribedInOneHarmlessLine() async {
    let manager = OperationManager(clock: ManualClock())
    let events = manager.events()
    let handle = manager.add(Scripted<Int> { _ in failing(TestError("a\nb\u{1B}[31m")) })
    let place = "task \(handle.id) (Scripted<Int>): "
    for await event in events where event.kind == .finished {
      #expect(event.description == place + "finished: failure(test error a b\u{FFFD}[31m)")
      break
    }
  }

  @Test func events_endWithTheManager_handleKept() async {
    let work = HeldOperation<Int>()
    var manager: OperationManager? = OperationManager(clock: ManualClock())
    let events = manager!.events()
    let handle = manager!.add(AnyManagedTask(makeOperation: { work }))
    await work.started.wait()
    manager = nil
    work.finish(with: 1)
    var last: ManagedEvent.Kind?
    for await event in events { last = event.kind }
    #expect(last == .finished)
    #expect(handle.outcome?.value == 1)
  }

  @Test(arguments: [true, false])
  func events_endWithTheManager_groupKept(isStarted: Bool) async {
    var manager: OperationManager? = OperationManager(clock: ManualClock())
    manager!.isSuspended = true
    let events = manager!.events()
    let group = manager!.add(contentsOf: (0..<3).map { Number($0) }, inOrder: true, startImmediately: isStarted)
    manager = nil
    var finished: [Int] = []
    for await event in events where event.kind == .finished { finished.append(event.taskID) }
    #expect(finished.sorted() == group.handles.map(\.id))
    #expect(group.handles.allSatisfy { managedError($0.outcome ?? .cancelled)?.code == .managerReleased })
  }

  @Test func events_ofAnIdleManager_endWhenItIsReleased_handleKept() async {
    var manager: OperationManager? = OperationManager(clock: ManualClock())
    let events = manager!.events()
    let handle = manager!.add(Number(1))
    await manager!.waitUntilIdle()
    manager = nil
    for await _ in events {}
    #expect(handle.outcome?.value == 1)
  }

  private struct ClosureSink: TelemetrySink {
    let body: @Sendable (TelemetryEvent) -> Void

    func receive(_ event: TelemetryEvent) { body(event) }
  }

  @Test("A stream and a sink that a sink makes begin with what happens next, not with what is still to be told")
  func madeByASink_beginWithWhatHappensNext() async {
    let manager = OperationManager(clock: ManualClock())
    manager.isSuspended = true
    let stream = Locked<AsyncStream<ManagedEvent>?>(nil)
    let told = EventRecorder<Int64?>()
    manager.report(
      to: ClosureSink { [weak manager] _ in
        guard stream.current == nil, let manager else { return }
        manager.add(Number(2))
        stream.withLock { $0 = manager.events() }
        manager.report(to: ClosureSink { told.record($0.id) })
      })
    let handle = manager.add(Number(1))
    // It was queued.
    #expect(told.events == [Int64(handle.id)])
    guard let stream = stream.current else {
      Issue.record("no stream was made")
      return
    }
    for await event in stream {
      #expect(event.taskID == handle.id && event.kind == .started)
      break
    }
  }

  // MARK: - Nothing goes silently

  /// The last event of each task, in the order in which they were told.
  private func lastEvents(_ body: (OperationManager) async -> Void) async -> [String] {
    let events: AsyncStream<ManagedEvent>
    do {
      let manager = OperationManager(
        interceptors: [.intercepting(Number.self) { task, _ in task.number == 0 ? .discard : .hold }],
        clock: ManualClock())
      events = manager.events()
      await body(manager)
    }
    var last: [Int: String] = [:]
    for await event in events {
      #expect(last[event.taskID]?.hasPrefix("finished") != true)
      let code = (event.outcome?.error as? ManagedTaskError).map { " \($0.code)" } ?? ""
      last[event.taskID] = "\(event.kind)\(code)"
    }
    return last.sorted { $0.key < $1.key }.map(\.value)
  }

  @Test func discarded_handleNotKept_isTold() async {
    let last = await lastEvents { manager in
      manager.add(Number(0))
      await manager.waitUntilIdle()
    }
    #expect(last == ["finished discarded"])
  }

  @Test func managerReleased_handlesNotKept_isTold() async {
    let last = await lastEvents { manager in
      manager.isSuspended = true
      manager.add(Number(1))
      manager.add(AnyManagedTask {})
    }
    #expect(last == ["finished managerReleased", "finished managerReleased"])
  }

  @Test func added_afterStop_isTold() async {
    let last = await lastEvents { manager in
      await manager.stop()
      manager.add(Number(1))
    }
    #expect(last == ["finished stopped"])
  }

  @Test func handle_releasedBeforeItsStart_isDropped() async {
    let last = await lastEvents { manager in
      _ = manager.add(Number(1), startImmediately: false)
    }
    #expect(last == ["dropped"])
  }

  @Test func events_nameTheirParticipant_asItWasWritten() async {
    let hasJoined = Gate()
    let manager = OperationManager(
      interceptors: [.batch(maxCount: 2)],
      reactors: [
        .retrying(where: { _ in false }),
        .reacting(to: Scripted<Int>.self, key: { _ in "k" }, when: { outcome, _ in outcome.error != nil }) { _ in
          await hasJoined.wait()
          return .deliver
        },
      ], clock: ManualClock())
    let events = manager.events()
    manager.add(contentsOf: (0..<2).map { _ in Scripted<Int> { _ in failing(TestError.first) } })
    var named: [String] = []
    for await event in events {
      if let participant = event.participant {
        named.append("\(event.kind) \(participant) \(event.reactionKey ?? "")")
        if event.kind == .joinedReaction {
          // Not before: one that looks for its reactor is in the state “reacting” as well.
          hasJoined.open()
          #expect("\(event)".hasSuffix("waits for .reacting(to: Scripted<Int>.self) for “k”"))
        }
      }
      if named.count == 4 { break }
    }
    #expect(
      Set(named) == [
        "held .batch ", "released .batch ", "reacting .reacting(to: Scripted<Int>.self) k",
        "joinedReaction .reacting(to: Scripted<Int>.self) k",
      ])
  }
}
