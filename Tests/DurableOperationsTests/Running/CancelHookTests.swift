import CompositeOperations
import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// Hooks of operations that the queue cancels are not called on threads of the store: there they
/// could not use the queue, and rounds and leases would wait for them.
@Suite(.timeLimit(.minutes(30))) struct CancelHookTests {
  /// What the hook of an operation saw.
  private struct Call: Equatable {
    let isOnStore: Bool
    /// What its call of the queue threw.
    let error: JobError.Reason?
  }

  private static let good = Call(isOnStore: false, error: nil)

  /// Has a job execute, and returns what tells of its hook.
  private func executing(in queue: DurableQueue) async throws -> (JobID, EventRecorder<Call>) {
    let calls = EventRecorder<Call>(), operation = NeverFinishingOperation<Void>(holdsOn: true)
    try await queue.register(Count.self) { _, context in
      operation.onCancel = { [unowned operation] in
        calls.record(
          Call(
            isOnStore: DispatchQueue.getSpecific(key: StoreQueue.current) != nil,
            error: jobErrorReason { try context.checkpoint(Data([1])) }))
        operation.release()
      }
      return operation
    }
    try await queue.register(Send.self) { _, _ in BlockOperation {} }
    queue.start()
    let id = try await queue.enqueue(Count(number: 1))
    await operation.started.wait()
    return (id, calls)
  }

  @Test(arguments: Engine.available) func cancelledWithAllOfItsKind_hookUsesTheQueue(on engine: Engine) async throws {
    let queue = try Harness(engine.location()).queue
    let (id, calls) = try await executing(in: queue)
    #expect(try await queue.cancelAll(kind: Count.kind) == 1)
    await calls.wait(forCount: 1)
    #expect(calls.events == [Self.good])
    #expect(try await queue.waitUntilSettled(id)?.state == .cancelled)
    await queue.stop()
  }

  @Test(arguments: Engine.available) func cancelledByAnotherQueue_hookUsesTheQueue(on engine: Engine) async throws {
    try await withDatabaseFile { file in
      let location = engine == .sqlite ? .file(file) : try engine.location()
      let harness = try Harness(location), other = try Harness(location).queue
      let (id, calls) = try await executing(in: harness.queue)
      try await other.cancel(id)
      await look(until: calls, harness)
      #expect(calls.events == [Self.good])
      #expect(try await harness.queue.waitUntilSettled(id)?.state == .cancelled)
      await harness.queue.stop()
    }
  }

  @Test(arguments: [true, false]) func leaseLost_seenInALookOrInARound_hookIsCalledElsewhere(isInRound: Bool)
    async throws
  {
    try await withDatabaseFile { file in
      let harness = try Harness(.file(file))
      let (_, calls) = try await executing(in: harness.queue)
      try Inspection(file).connection.execute("DELETE FROM durable_workers")
      if isInRound {
        try await harness.queue.enqueue(Send(text: "claimed in a round"))
        await calls.wait(forCount: 1)
      } else {
        await look(until: calls, harness)
      }
      #expect(!calls.events[0].isOnStore)
      await harness.queue.stop()
    }
  }

  /// Has the queue look around until the hook was called.
  private func look(until calls: EventRecorder<Call>, _ harness: Harness) async {
    var turns = Turns()
    while calls.events.isEmpty, !Task.isCancelled {
      harness.clock.advance(by: .seconds(1))
      await turns.next()
    }
  }
}
