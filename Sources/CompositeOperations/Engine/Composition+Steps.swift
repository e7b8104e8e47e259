import Foundation

// How a composition runs one child after the other.

extension Composition {
  // MARK: - Begin and end

  final func beginSteps(cancelled: Bool) {
    if table.withLock({ $0.begin(cancelled: cancelled) }) { offer() } else { unwindSteps(ThreadContext.current) }
  }

  /// Ends a cancelled composition in which no child runs.
  private final func unwindSteps(_ context: ThreadContext) {
    guard let child = discard() else { return end(.cancelled) }
    let number = table.withLock { table in
      _ = table.stepMade(child, .claimed)
      return table.stepCount
    }
    tellAdded(child, tag: number)
    abandonStep(child, number, joins: joins, context)
  }

  private final func end(_ verdict: Verdict) {
    let count = table.withLock { table in
      table.endSteps()
      return table.stepCount
    }
    _ = discard()
    conclude(verdict, count: count)
  }

  // MARK: - Running

  final func runSteps(in slot: any WorkSlot, _ context: ThreadContext) -> WorkResult {
    var step = table.withLock { $0.claimStep() }
    while true {
      let child: Operation
      let number: Int
      var isOurs = false
      switch consume step {
      case .launch(let waiting, let count): (child, number, isOurs) = (waiting, count, true)
      case .ask(let previous, let count):
        switch nextStep(after: previous, count, context) {
        case .settle(let verdict):
          end(verdict)
          return .nothing
        case .nothing: return .nothing
        case .run(let made, _):
          (child, number) = (made, count + 1)
          tellAdded(child, tag: number)
          let (blocks, isCancelled) = table.withLock { $0.stepMade(child, joins ? .claimed : .ours) }
          if blocks.contains(.closed) {
            abandonStep(child, number, joins: joins, context)
            return .nothing
          }
          if isCancelled { cancelWaiting(child, isOurs: !joins, context) }
          if !blocks.isEmpty { return .nothing }
        }
      case .next: return .done
      case .end, .nothing: return .nothing
      }
      if let higher = higherQualityOfService(of: child) {
        Threads.later(qualityOfService: higher) { [self, isOurs] in
          // The thread is not the composition's: it does not go on.
          let context = ThreadContext.current
          guard launch(child, tag: number, isOurs: isOurs, in: slot, context) == nil else { return }
          if case .next = stepEnded(child, number, claiming: false) { offer() }
        }
        return .nothing
      }
      if let result = launch(child, tag: number, isOurs: isOurs, in: slot, context) {
        return result == .inFlight ? .inFlight : .nothing
      }
      // A lane checks its queue between two leaves; a worker has none to check.
      let goesOn = environment.pool == nil && context.continuesTurn()
      step = stepEnded(child, number, claiming: goesOn)
    }
  }

  private final func nextStep(after previous: Operation?, _ count: Int, _ context: ThreadContext) -> Made {
    do {
      if OperationContext.isUsed { return try nextStepInContext(after: previous, count, context) }
      return try context.runUserCode { try askForNextStep(after: previous, count) }
    } catch {
      return .settle(Verdict(thrown: error))
    }
  }

  // Not inlined: with two copies of the user's code, each call would retain more.
  @inline(never)
  private final func nextStepInContext(
    after previous: Operation?, _ count: Int, _ context: ThreadContext
  ) throws -> Made {
    try runUserCode(context) { try askForNextStep(after: previous, count) }
  }

  @inline(__always)
  private final func askForNextStep(after previous: Operation?, _ count: Int) throws -> Made {
    guard previous != nil, let refusal = refusal(of: count) else { return try make(count, after: previous, nil) }
    // A plain child does not know that it was refused.
    guard traits.contains(.seesRefusals) else { return .settle(.failure(refusal)) }
    return try make(count, after: previous, refusal)
  }

  /// Handles the end of a step. Settles the owner if nothing follows.
  final func stepEnded(_ child: Operation, _ number: Int, claiming: Bool) -> ChildTable.Step {
    // Monitors first: once the table has changed, a cancel may settle the owner.
    if !monitors.isEmpty, table.withLock({ $0.tellStep(number) }) { tellSettled(child, tag: number) }
    if joins { noteName(of: child, tag: number) }
    let isLast = isLast(child, tag: number)
    let step: ChildTable.Step
    if child.isOwn, child.asOwn.state.current.ending == .success {
      step = table.withLock { table in
        table.stepEnded(number, claiming: claiming, isLast: isLast) { $0.append(child.asOwn.storedValue) }
      }
    } else {
      let outcome = outcome(of: child, tag: number)
      // Outside the lock: subclasses can override it.
      let name = outcome.error == nil ? nil : child.name
      step = table.withLock { table in
        table.stepEnded(number, claiming: claiming, isLast: isLast) {
          $0.append(outcome, index: number - 1, name: name)
        }
      }
    }
    switch step {
    case .ask(let previous, let count) where isLast:
      // No child runs after it, so any thread will do.
      guard case .settle(let verdict) = nextStep(after: previous, count, ThreadContext.current) else {
        preconditionFailure("A step follows the last one")
      }
      end(verdict)
      return .nothing
    case .end:
      end(.cancelled)
      return .nothing
    default: return step
    }
  }

  // MARK: - Stopping

  final func cancelSteps() {
    guard let step = table.withLock({ $0.cancelSteps() }) else { return }
    let context = ThreadContext.current
    switch (step.phase, step.child) {
    case (.listed, let previous): withExtendedLifetime(previous) { unwindSteps(context) }
    case (.ours, let child?): cancel(child, context)
    case (.waiting, let child?), (.ready, let child?): abandonStep(child, step.handle, context)
    case (.joined, let child?): leaveStep(child, step.handle)
    default: break  // the thread that makes or starts the child, or notifies monitors, will see it
    }
  }

  /// Ends a composition that no longer waits for a child that other code starts.
  final func leaveStep(_ child: Operation, _ number: Int) {
    noteName(of: child, tag: number)
    _ = isLast(child, tag: number)
    tellSettled(child, tag: number)
    end(.cancelled)
  }

  final func abandonStep(_ child: Operation, _ number: Int, joins: Bool = false, _ context: ThreadContext) {
    if abandon(child, tag: number, joins: joins, context) { _ = stepEnded(child, number, claiming: false) }
  }
}
