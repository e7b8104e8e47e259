import CompositeOperations
import Foundation

// Attempts and reactions: what the engine asks for, and tells.

extension ManagerCore {
  /// Makes the engine, which runs attempts. A ticket tells it that one more task can execute; the
  /// state machine decides which one when the engine has room for it.
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
    var claimed: (id: Int, payload: any AnyManagedJob)?
    input { claimed = $0.claim() }
    guard let (id, job) = claimed else { return nil }
    if let operation = job.makeOperation(in: self) { return (operation, id) }
    let tickets = attemptDidSettle(id)
    if !tickets.isEmpty { engine.run(tags: tickets) }
    return nil
  }

  /// An attempt has ended. Returns tickets for what can execute in consequence.
  private func attemptDidSettle(_ id: Int) -> [Int] {
    let (asked, job, effects) = withLock { storage in
      let asked = storage.state.attemptEnded(id) { $0.lastOutcome ?? .cancelled }
      let job = asked == nil ? nil : storage.state.jobs[id]?.payload
      return (asked, job, storage.state.conclude())
    }
    perform(effects)
    if let asked, let job {
      let asks = job.ask(asked, in: self)
      // As any other input: what may start now does before the completion of this task is called.
      input { $0.conclude(id, asks: asks) }
    }
    return Self.tags(effects.tickets)
  }

  // MARK: - Reactions

  func startReaction(_ number: Int, of reactor: Int, key: String?, to job: any AnyManagedJob, attempt: Int) {
    let context = ReactionContext(
      taskID: job.id, taskDescription: job.taskDescription, attempt: attempt,
      outcome: job.lastOutcome ?? .cancelled, key: key)
    let timer = reactors[reactor].configuration.timeout.map { timeout in
      timekeeper.after(timeout) { [weak self] in self?.input { $0.reactionEnded(number, .timedOut) } }
    }
    let task = Task.detached(priority: .prompt) { [self, reactor = reactors[reactor].reactor] in
      let answer: ReactionAnswer
      do {
        answer = .answered(try await reactor.react(to: context))
      } catch {
        answer = .threw(error)
      }
      input { $0.reactionEnded(number, answer) }
    }
    let isNeeded = withLock { storage in
      guard storage.state.reactions[number] != nil else { return false }
      storage.reactionTasks[number] = (task, timer)
      return true
    }
    if !isNeeded { end((task, timer)) }
  }

  func cancelReaction(_ number: Int) {
    if let reaction = withLock({ $0.reactionTasks.removeValue(forKey: number) }) { end(reaction) }
  }

  private func end(_ reaction: (task: Task<Void, Never>, timer: Timekeeper.Timer?)) {
    reaction.task.cancel()
    if let timer = reaction.timer { timekeeper.cancel(timer) }
  }
}
