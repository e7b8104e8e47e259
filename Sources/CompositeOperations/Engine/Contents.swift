import Foundation

// Looks at the operations inside a composition that has not started.

extension Composition {
  /// The dependency of the owner that is inside it and that no other code starts.
  final func unstartedContent(awaitedBy owner: SettlingOperation) -> Operation? {
    guard !owner.state.current.has(.cancelled) else { return nil }
    let awaited = owner.dependencies.filter { !$0.isFinished && !$0.isTaken }
    guard !awaited.isEmpty else { return nil }
    let identifiers = Set(awaited.map(ObjectIdentifier.init))
    var seen: Set<ObjectIdentifier> = []
    var rest = contents
    while let next = rest.popLast() {
      if identifiers.contains(ObjectIdentifier(next)) { return next }
      guard let composition = (next as? SettlingOperation)?.composition, !next.isTaken else { continue }
      if seen.insert(ObjectIdentifier(next)).inserted { rest += composition.contents }
    }
    return nil
  }

  /// The operations inside the composition, as far as they are known.
  final var contents: [Operation] {
    let known = knownChildren
    return known.upstream + known.contents
  }
}

extension SettlingOperation {
  /// The operations that hold back everything inside this composition, which has not started: each
  /// waits for its dependencies, or other code is to start it. Empty if something can start, or if
  /// it is not known what comes first.
  final var blockedContents: [Operation] {
    var blocked: [Operation] = []
    var seen: Set<ObjectIdentifier> = []
    // Each composition on the way in, and what is left to look at inside it.
    var path: [(operation: SettlingOperation, rest: ArraySlice<Operation>)] = []
    func enter(_ operation: SettlingOperation) -> Bool {
      let state = operation.state.current
      guard state.phase == .pending, !state.hasAny([.cancelled, .canBegin]), let composition = operation.composition
      else {
        return false
      }
      let contents = composition.traits.contains(.beginsAtOnce) ? [] : composition.contents
      guard !contents.isEmpty else { return false }
      if seen.insert(ObjectIdentifier(operation)).inserted { path.append((operation, contents[...])) }
      return true
    }
    guard enter(self) else { return [] }
    while let last = path.last {
      guard let next = path[path.count - 1].rest.popFirst() else {
        path.removeLast()
        continue
      }
      if next.isBlocked(joins: last.operation.composition.map { !$0.isList || $0.joins } ?? true) {
        blocked.append(next)
      } else if let own = next as? SettlingOperation, !own.isTaken, enter(own) {
        continue
      } else {
        // Each is looked at once, however deeply compositions with limits nest.
        for step in path { step.operation.state.apply { $0.note(.canBegin) } }
        return []
      }
    }
    return blocked
  }
}

extension Operation {
  /// Whether the operation has not started and waits for something else than its turn.
  ///
  /// - Parameter joins: whether the composition around it waits if other code is to start it. If
  ///   false, the composition fails.
  fileprivate func isBlocked(joins: Bool) -> Bool {
    guard !isFinished, !isExecuting, !isCancelled else { return false }
    if let own = self as? SettlingOperation, own.state.current.phase != .pending { return false }
    return isTaken ? joins : DependencyWait.isNeeded(for: self)
  }
}
