import Foundation

// Who starts an operation. One of ours carries a mark once somebody has taken it over; of others only what Foundation
// shows can be known.

extension Operation {
  /// Makes the caller the one who starts the operation. False if it was started or queued, or somebody else is to.
  final func takeOver() -> Bool {
    if let own = self as? SettlingOperation { return own.adopt() }
    return !isFinished && !isExecuting && !isInQueue
  }

  /// Whether somebody has started the operation, or is the one who will.
  final var isTaken: Bool {
    guard let own = self as? SettlingOperation else { return isFinished || isExecuting || isInQueue }
    let state = own.state.current
    return state.phase != .pending || state.has(.adopted) || own.waitsInQueue
  }

  /// Why the operation cannot be the next one of a sequence, if it cannot. If it can, the sequence has taken it over.
  final var refusalAsNextOperation: OperationError? {
    if let own = self as? SettlingOperation {
      if own.adopt() { return nil }
      return OperationError(own.state.current.isSettled ? .alreadyFinished : .alreadyInUse, operation: self)
    }
    if isFinished { return OperationError(.alreadyFinished, operation: self) }
    return isExecuting ? OperationError(.alreadyInUse, operation: self) : nil
  }
}

extension SettlingOperation {
  /// Makes the caller the one who starts the operation.
  final func adopt() -> Bool {
    !waitsInQueue && state.apply { $0.adopt() }
  }

  /// Whether the operation has an outcome, or is about to, and no queue has to start it before it finishes.
  fileprivate final var hasSettled: Bool {
    let state = state.current
    return state.phase > .executing && (state.has(.started) || !state.has(.finishesWhenStarted))
  }

  /// Gives the operation a name, unless somebody else may be using it.
  ///
  /// - Parameter replaces: whether it may have one already.
  package final func nameUnlessTaken(_ name: String, replaces: Bool = false) {
    let state = self.state.current
    if state.has(.hasName), !replaces, self.name != nil { return }
    guard state.phase == .pending, !state.has(.adopted), !waitsInQueue else { return }
    self.name = name
  }

  /// Whether the operation was added to a queue that has not started it yet.
  final var waitsInQueue: Bool {
    let state = state.current
    return state.phase == .pending && state.has(.readinessWasRead) && isHeldByQueue
  }
}

extension [Operation] {
  /// Takes the operations over as the children of one composite. Returns those that it cannot run, because they are
  /// not its alone, with what is wrong with each.
  func takeOverAsChildren() -> [Int: OperationError] {
    var refused: [Int: OperationError] = [:]
    // Those that carry no mark: they are not ours, or have finished already.
    var unmarked: Set<ObjectIdentifier> = []
    // Only needed to say what is wrong.
    lazy var firstIndices = Dictionary(
      enumerated().map { (ObjectIdentifier($1), $0) }, uniquingKeysWith: { first, _ in first })
    for (index, child) in enumerated() {
      let own = child as? SettlingOperation
      if let own, own.adopt() { continue }
      // One that has an outcome counts with it, also where its completion still runs.
      if own?.hasSettled ?? true {
        if unmarked.isEmpty { unmarked.reserveCapacity(count - index) }
        if !unmarked.insert(ObjectIdentifier(child)).inserted {
          refused[index] = OperationError(.duplicateChild, operation: child)
        } else if own == nil, !child.isFinished, child.isExecuting {
          refused[index] = OperationError(.alreadyInUse, operation: child)
        }
      } else {
        let isDuplicate = firstIndices[ObjectIdentifier(child)] != index
        refused[index] = OperationError(isDuplicate ? .duplicateChild : .alreadyInUse, operation: child)
      }
    }
    return refused
  }
}
