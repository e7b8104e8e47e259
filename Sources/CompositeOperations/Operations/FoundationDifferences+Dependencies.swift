import Foundation

// Removes an operation from the lists of its dependencies before it ends.

extension Operation {
  /// Removes the dependencies of an operation that is about to finish before all of them notified
  /// it.
  ///
  /// On Linux a dependency keeps unretained pointers to its dependents, and follows them when it
  /// finishes, even to dependents that were released. `removeDependency` removes the pointer, after
  /// waiting for a thread that is following it. A dependency whose `isFinished` is true may still
  /// be following them.
  ///
  /// `removeDependency` locks the dependency and then the dependent, and so does a dependency that
  /// finishes. In a circle of dependencies these orders contradict each other: two operations that
  /// leave each other, or finish, at once would wait for ever. So there one leaves after the other,
  /// and before it finishes.
  ///
  /// - Parameter unfinishedOnly: whether to keep those whose `isFinished` is true.
  /// - Returns: those that it left.
  @discardableResult
  final func leaveDependencies(unfinishedOnly: Bool = false) -> [Operation] {
    #if canImport(Darwin)
    return []
    #else
    let announcing = ThreadContext.current.announcing
    let left = dependencies.filter { dependency in
      // A `SettlingOperation` tells that it is past that; it stays in the list.
      if let own = dependency as? SettlingOperation, own.state.current.phase == .announced { return false }
      // Foundation, which has emptied its list, holds its lock on this thread.
      if dependency === announcing { return false }
      return !unfinishedOnly || !dependency.isFinished
    }
    guard left.contains(where: { $0.mayWait(for: self) }) else {
      for dependency in left { removeDependency(dependency) }
      return left
    }
    departures.lock()
    defer { departures.unlock() }
    for dependency in left { removeDependency(dependency) }
    return left
    #endif
  }

  #if !canImport(Darwin)
  /// Whether this operation may wait for another one, through its dependencies. Looks at some of
  /// them, and says yes if there are more.
  private final func mayWait(for other: Operation) -> Bool {
    var seen: Set<ObjectIdentifier> = []
    var rest = [self]
    while let next = rest.popLast() {
      for dependency in next.dependencies where !dependency.isFinished {
        if dependency === other || seen.count == 50 { return true }
        if seen.insert(ObjectIdentifier(dependency)).inserted { rest.append(dependency) }
      }
    }
    return false
  }
  #endif

  /// Starts an operation of any type that was cancelled, and so is ready whatever its dependencies:
  /// later, if an override of `isReady` or `cancel()` keeps it from being ready.
  final func startCancelled() {
    // An override of `cancel()` without a call of super needs its dependencies to become ready.
    guard isCancelled || isReady else { return startCancelledLater() }
    // One that has finished by then was counted as if it had not: the operation is no longer ready.
    // Another cancel forgets the count.
    if leaveDependencies(unfinishedOnly: true).contains(where: \.isFinished), !isReady { cancel() }
    #if canImport(Darwin)
    // An override of `isReady` may look at them.
    if !isReady { for dependency in dependencies where !dependency.isFinished { removeDependency(dependency) } }
    #endif
    // Foundation ends the program if it is started before.
    guard isReady else { return startCancelledLater() }
    start()
    leaveDependencies()
  }

  private final func startCancelledLater() {
    Threads.later(after: .milliseconds(32), qualityOfService: .default) { [self] in
      ThreadContext.current.runUserCode {
        if !isFinished, !isExecuting, !isInQueue { startCancelled() }
      }
    }
  }
}

#if !canImport(Darwin)
/// Held while an operation in a circle leaves its dependencies. Recursive, because Foundation then
/// reads `isReady`, which may be the user's override.
private let departures = NSRecursiveLock()
#endif
