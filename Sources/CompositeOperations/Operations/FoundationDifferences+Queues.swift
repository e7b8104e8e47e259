import Foundation

// Finds out whether an operation waits in an `OperationQueue`.
//
// Starting or finishing an operation that a queue holds leaves a dangling pointer in the queue. No
// public property tells whether an operation is in a queue. On Linux reflection does. On Apple
// platforms the sign is that `isReady` was read before the start: a queue reads it of each
// operation that is added to it.

extension Operation {
  /// Whether this operation, which may be of any type, was added to an `OperationQueue` and has not
  /// finished.
  ///
  /// On Apple platforms this cannot be known of operations of other types, and the answer is false.
  final var isInQueue: Bool {
    #if canImport(Darwin)
    return false
    #else
    return QueueField.isKnown && QueueField.isSet(of: self)
    #endif
  }

  /// Makes the queue check again whether this operation, which was just added, is ready.
  ///
  /// On Linux a queue misses that the last dependency finishes while the operation is being added,
  /// and would find it ready only at the next change in that queue.
  final func repeatReadiness() {
    #if !canImport(Darwin)
    if isReady { didChangeValue(forKey: "isReady") }
    #endif
  }

  /// Removes the dependencies of an operation that was started, or is released, before all of them
  /// notified it.
  ///
  /// On Linux a dependency keeps unretained pointers to its dependents, and follows them when it
  /// finishes, even to dependents that were released. `removeDependency` removes the pointer, after
  /// waiting for a thread that is following it. A dependency whose `isFinished` is true may still
  /// be following them. (`removeDependency` also makes an unstarted operation never become ready,
  /// so this is only for started ones.)
  final func leaveDependencies() {
    #if !canImport(Darwin)
    for dependency in dependencies {
      // A `SettlingOperation` tells that it is past that; it stays in the list.
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

  /// The queue that is executing this operation; nil if none is. Read on the operation's thread.
  final var executingQueue: OperationQueue? {
    // A queue reads `isReady` of each operation that is added to it.
    guard state.current.has(.readinessWasRead) else { return nil }
    #if canImport(Darwin)
    // Other code may read `isReady` too, and then start the operation inside one that a queue
    // executes, or on the main thread, whose current queue is always the main one. A queue with
    // very many operations is not searched but believed: a composite that wrongly assumes to hold
    // no slot would wait for its own.
    guard let queue = OperationQueue.current else { return nil }
    return queue.operationCount > 1_000 || queue.operations.contains { $0 === self } ? queue : nil
    #else
    return isInQueue ? OperationQueue.current : nil
    #endif
  }

  // MARK: - The sign

  /// Records that `isReady` is being read, and returns it.
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

  /// Records that the operation, which the caller has adopted, is about to be added to a queue.
  final func willBeQueued() {
    state.apply { $0.note(.readinessWasRead) }
  }

  /// Makes a call to Foundation in which it reads `isReady`, whether or not a queue holds the
  /// operation.
  @inline(__always)
  final func tellFoundation(_ body: () -> Void) {
    #if canImport(Darwin)
    let context = ThreadContext.current
    let previous = context.told
    context.told = self
    context.runUserCode(body)  // of key-value observers
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
    // When the last dependency finishes, Foundation reads `isReady` once, without a queue.
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
/// The field of Foundation's `Operation` that holds its queue, found by reflection.
enum QueueField {
  static let label = "__queue"

  /// Always true: traps if this Foundation is different, where operations would be finished behind
  /// the back of their queue.
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

  /// Traps unless the field is set for an operation in a queue, and only then.
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
