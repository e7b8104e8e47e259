import Foundation

// How it is known that an operation waits in an `OperationQueue`.
//
// A queue owns what it holds: an operation that is started or finished behind its back leaves a dangling pointer in it. No
// public property says whether an operation is in a queue. On Linux reflection tells. On Apple platforms the sign is that
// `isReady` was read before the operation was started, as a queue does with each operation that is added to it.

extension Operation {
  /// Whether this operation, which may be of any type, was added to an `OperationQueue` and has not finished.
  ///
  /// On Apple platforms this cannot be known of operations that are not ours, and the answer is false.
  final var isInQueue: Bool {
    #if canImport(Darwin)
    return false
    #else
    return QueueField.isKnown && QueueField.isSet(of: self)
    #endif
  }

  /// Has the queue look again whether this operation, which was just added, is ready.
  ///
  /// On Linux a queue misses it if the last dependency finishes while the operation is being added, and would find it
  /// ready only when something else happens in that queue.
  final func repeatReadiness() {
    #if !canImport(Darwin)
    if isReady { didChangeValue(forKey: "isReady") }
    #endif
  }

  /// Gives up the dependencies of an operation that was started, or is released, without all of them having told it
  /// that they finished.
  ///
  /// On Linux a dependency keeps unretained pointers to its dependents, and follows them when it finishes, even those to
  /// dependents that are long gone. `removeDependency` removes that pointer, after waiting for one who is following it.
  /// That `isFinished` is true of a dependency does not mean that it is past that. (`removeDependency` also leaves an
  /// operation that has not started never ready, which is why this is for those that were started.)
  final func leaveDependencies() {
    #if !canImport(Darwin)
    for dependency in dependencies {
      // Ours can say that they are past it; those stay in the list.
      if let own = dependency as? SettlingOperation, own.state.current.phase == .announced { continue }
      removeDependency(dependency)
    }
    #endif
  }
}

extension SettlingOperation {
  /// Whether a queue holds this operation, whose `isReady` was read before it started.
  final var isHeldByQueue: Bool {
    #if canImport(Darwin)
    return true
    #else
    return isInQueue
    #endif
  }

  /// The queue that is executing this operation, on whose thread this is called; nil if none is.
  final var executingQueue: OperationQueue? {
    // A queue reads `isReady` of what is added to it; an operation of which nobody did has not been added.
    guard state.current.has(.readinessWasRead) else { return nil }
    #if canImport(Darwin)
    // Others read `isReady`, too, and then start the operation inside one that a queue executes, or on the main thread,
    // where the current queue is always the main one. Of a queue that holds very many it is believed unseen: a composite
    // that wrongly thinks it holds no slot would wait for its own.
    guard let queue = OperationQueue.current else { return nil }
    return queue.operationCount > 1_000 || queue.operations.contains { $0 === self } ? queue : nil
    #else
    return isInQueue ? OperationQueue.current : nil
    #endif
  }

  // MARK: - The sign

  /// `isReady` is being read; returns it.
  @inline(__always)
  final func noteReadiness(_ isReady: Bool) -> Bool {
    #if canImport(Darwin)
    if !state.current.has(.readinessWasRead), ThreadContext.current.told !== self {
      state.apply { $0.noteReadiness(isReady) }
    }
    #else
    if !state.current.has(.readinessWasRead) { state.apply { $0.note(.readinessWasRead) } }
    #endif
    return isReady
  }

  /// The operation, which the caller has taken over, is about to be added to a queue.
  final func willBeQueued() {
    state.apply { $0.note(.readinessWasRead) }
  }

  /// Tells Foundation something upon which it reads `isReady`, whether or not a queue holds the operation.
  @inline(__always)
  final func tellFoundation(_ body: () -> Void) {
    #if canImport(Darwin)
    let context = ThreadContext.current
    let previous = context.told
    context.told = self
    context.runUserCode(body)  // of observers by key
    context.told = previous
    state.apply { $0.forgetReadiness() }
    #else
    body()
    #endif
  }

  /// Adds or removes a dependency.
  @inline(__always)
  final func changeDependencies(_ change: () -> Void) {
    #if canImport(Darwin)
    // When the last dependency finishes, Foundation reads `isReady` once. That is not a queue.
    if state.current.phase == .pending { state.apply { $0.note(.awaitsReadiness) } }
    let context = ThreadContext.current
    let previous = context.told
    context.told = self
    context.runUserCode(change)
    context.told = previous
    if super.isReady { state.apply { $0.forgetReadiness() } }
    #else
    change()
    #endif
  }
}

#if !canImport(Darwin)
/// The field of Foundation's `Operation` that holds its queue, as reflection shows it.
enum QueueField {
  static let label = "__queue"

  /// True, or the program stops: with another Foundation operations would be finished behind the back of their queue.
  static let isKnown: Bool = {
    check(label: label)
    return true
  }()

  /// Whether the field of an operation is set.
  static func isSet(of operation: Operation, label: String = label) -> Bool {
    var mirror: Mirror? = Mirror(reflecting: operation)
    while let current = mirror {
      if current.subjectType == Operation.self {
        let queue = current.children.first { $0.label == label }?.value
        return (queue as? Unmanaged<OperationQueue>) != nil
      }
      mirror = current.superclassMirror
    }
    return false
  }

  /// Traps unless the field is set of an operation in a queue, and of no other.
  static func check(label: String) {
    let queue = OperationQueue()
    queue.isSuspended = true
    let operation = BlockOperation()
    let isSetBefore = isSet(of: operation, label: label)
    queue.addOperation(operation)
    require(
      !isSetBefore && isSet(of: operation, label: label),
      "This version of Foundation does not show by \(label) whether an operation waits in an OperationQueue, so that "
        + "operations would be finished behind the back of their queue. Use a version of CompositeOperations that was made "
        + "for it.")
    queue.isSuspended = false
  }
}
#endif
