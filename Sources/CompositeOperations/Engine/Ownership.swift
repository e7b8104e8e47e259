import Foundation

// Which code starts an operation. A `SettlingOperation` is marked once a caller adopts it; other
// operations show only the flags of Foundation.

extension Operation {
  /// Adopts the operation for the caller, which then starts it. Returns false if it was started,
  /// queued or adopted before.
  ///
  /// - Parameter entersQueue: whether the caller instead adds it to a queue, which starts it.
  final func adopt(entersQueue: Bool = false) -> Bool {
    if let own = self as? SettlingOperation { return own.adoptOwn(entersQueue: entersQueue) }
    return !isFinished && !isExecuting && !isInQueue
  }

  /// Whether the operation was started, queued or adopted.
  final var isTaken: Bool {
    guard let own = self as? SettlingOperation else { return isFinished || isExecuting || isInQueue }
    let state = own.state.current
    return state.phase != .pending || state.has(.adopted) || own.waitsInQueue
  }

  /// Takes the values of what will run this operation, unless other code runs it.
  package final func inheritContextUnlessTaken(_ outer: ContextValues?) {
    if OperationContext.isUsed, !isTaken { (self as? SettlingOperation)?.inheritContext(outer) }
  }

  /// Adopts the operation as the next one of a sequence. Returns the error if that is impossible.
  final var refusalAsNextOperation: OperationError? {
    let isAdopted = isOwn ? asOwn.adoptOwn() : adopt()
    if isAdopted { return nil }
    let hasEnded = (self as? SettlingOperation)?.state.current.isSettled ?? isFinished
    return OperationError(hasEnded ? .alreadyFinished : .alreadyInUse, operation: self)
  }

  /// Names the operation, unless it was started, queued or adopted: then others may read its name.
  ///
  /// - Parameter replaces: whether to replace a name that it has.
  package final func nameUnlessTaken(_ name: String, replaces: Bool = false) {
    let mayHaveName = (self as? SettlingOperation)?.state.current.has(.hasName) ?? true
    if !isTaken, replaces || !mayHaveName || self.name == nil { self.name = name }
  }
}

extension SettlingOperation {
  /// Adopts the operation for the caller, which then starts it.
  ///
  /// - Parameter entersQueue: whether the caller instead adds it to a queue, which starts it.
  final func adoptOwn(entersQueue: Bool = false) -> Bool {
    !waitsInQueue && state.apply { $0.adopt(entersQueue: entersQueue) }
  }

  /// Whether the operation has an outcome or is about to, and can finish without being started by a
  /// queue.
  fileprivate final var hasSettled: Bool {
    let state = state.current
    if state.phase <= .executing { return false }
    if state.has(.started) { return true }
    // A queue that holds it, or is about to, will start it, also while its completion still runs.
    return !state.has(.finishesWhenStarted) && !isStartedByQueue
  }

  /// Whether the operation was added to a queue that has not started it yet.
  final var waitsInQueue: Bool {
    let state = state.current
    return state.phase == .pending && state.has(.readinessWasRead) && isHeldByQueue
  }
}

extension [Operation] {
  /// Adopts the operations as the children of one composite. Returns an error for each that the
  /// composite cannot run, because it is not the composite's alone.
  func adoptAsChildren() -> [Int: OperationError] {
    var refused: [Int: OperationError] = [:]
    // Those that cannot be adopted: of other types, or finished.
    var unmarked: Set<ObjectIdentifier> = []
    // Needed only for the error.
    lazy var firstIndices = Dictionary(
      enumerated().map { (ObjectIdentifier($1), $0) }, uniquingKeysWith: { first, _ in first })
    for (index, child) in enumerated() {
      let own = child as? SettlingOperation
      if let own, own.adoptOwn() { continue }
      // A child that has an outcome counts with it, even while its completion still runs.
      if own?.hasSettled ?? true {
        if unmarked.isEmpty { unmarked.reserveCapacity(count - index) }
        if !unmarked.insert(ObjectIdentifier(child)).inserted {
          refused[index] = OperationError(.duplicateChild, operation: child)
        } else if own == nil, !child.isFinished, child.isExecuting || child.isInQueue {
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
