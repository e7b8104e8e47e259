import CompositeOperations
import Foundation

// Attempts: what the engine asks for, and tells.

extension ManagerCore {
  /// The engine runs attempts. It is handed tickets, each of which means that one more task can execute; which one it is
  /// decides the state machine when there is room for it.
  func makeEngine(operationQueue: OperationQueue?) -> DrivenOperation<Void> {
    let driver = DrivenOperation<Void>.Driver(
      didStart: { _ in },
      makeOperation: { [weak self] _, _ in self?.makeAttempt() },
      operationDidSettle: { [weak self] _, operation, id in
        self?.attemptDidSettle(id) ?? []
      },
      wasCancelled: { _ in })
    let engine = DrivenOperation<Void>(operationQueue: operationQueue, driver: driver)
    engine.name = name
    return engine
  }

  private static let one = [0]

  /// Tickets for the engine: numbers that mean nothing.
  static func tags(_ tickets: Int) -> [Int] {
    switch tickets {
    case 0: []
    case 1: one
    default: Array(repeating: 0, count: tickets)
    }
  }

  private func makeAttempt() -> (Operation, tag: Int)? {
    var claimed: (id: Int, payload: AnyManagedJob)?
    input { claimed = $0.claim() }
    guard let (id, job) = claimed else { return nil }
    do {
      return (try job.makeOperation(in: self), id)
    } catch {
      // What the attempt before failed with, if it did so too, is released outside of the lock.
      var failure: (any Error)? = error
      withLock { _ in job.fail(with: &failure) }
      let tickets = attemptDidSettle(id)
      if !tickets.isEmpty { engine.run(tags: tickets) }
      return nil
    }
  }

  /// An attempt has ended. Returns tickets for what can execute in consequence.
  private func attemptDidSettle(_ id: Int) -> [Int] {
    let (asked, job, effects) = withLock { storage in
      let asked = storage.state.attemptEnded(id) { $0.lastOutcome ?? .cancelled }
      let job = asked == nil ? nil : storage.state.jobs[id]?.payload
      return (asked, job, storage.state.conclude())
    }
    perform(effects)
    var tickets = effects.tickets
    if let asked, let job {
      let asks = job.ask(asked, in: self)
      let effects = withLock { storage in
        storage.state.conclude(id, asks: asks)
        return storage.state.conclude()
      }
      perform(effects)
      tickets += effects.tickets
    }
    return Self.tags(tickets)
  }

  // MARK: - Limits

  var width: Int? {
    get { withLock(\.width) }
    set {
      withLock { $0.width = newValue }
      // The latest one, if it is set by several threads at once.
      var width: Int?
      repeat {
        width = self.width
        engine.width = width ?? .max
      } while self.width != width
    }
  }
}
