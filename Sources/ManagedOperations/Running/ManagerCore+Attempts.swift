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
    let (reactor, timeout) = (reactors[reactor].reactor, reactors[reactor].configuration.timeout)
    let task = Task.detached(priority: .prompt) { [self] in
      // The time counts from here, where the task has got a thread.
      let timer = timeout.map { timeout in
        timekeeper.after(timeout) { [weak self] in self?.input { $0.reactionEnded(number, .timedOut) } }
      }
      guard keep({ $0.timer = timer }, ofReaction: number) else {
        if let timer { timekeeper.cancel(timer) }
        return
      }
      let answer: ReactionAnswer
      do {
        answer = .answered(
          try await OperationContext.bind(self.context(of: job)) { try await reactor.react(to: context) })
      } catch {
        answer = .threw(error)
      }
      input { $0.reactionEnded(number, answer) }
    }
    if !keep({ $0.task = task }, ofReaction: number) { task.cancel() }
  }

  /// Returns false if the reaction has ended.
  private func keep(_ part: (inout Reaction) -> Void, ofReaction number: Int) -> Bool {
    withLock { storage in
      guard storage.state.reactions[number] != nil else { return false }
      part(&storage.reactions[number, default: Reaction()])
      return true
    }
  }

  func cancelReaction(_ number: Int) {
    guard let reaction = withLock({ $0.reactions.removeValue(forKey: number) }) else { return }
    reaction.task?.cancel()
    if let timer = reaction.timer { timekeeper.cancel(timer) }
  }
}
