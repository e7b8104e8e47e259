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
    return QueueField.isKnown && QueueField.mayBeSet(of: self) && QueueField.isSet(of: self)
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
}

extension OperationQueue {
  /// Adds an operation whose dependencies may finish, or that may be cancelled, at the same time.
  ///
  /// On Linux the queue misses both while the operation is being added: see `repeatReadiness()`. If
  /// the operation was cancelled and a barrier waits in the queue, the queue would wait for its own
  /// lock. So it does not find an operation of the package ready before that has been added.
  package final func enter(_ operation: Operation) {
    #if canImport(Darwin)
    addOperation(operation)
    #else
    let context = ThreadContext.current
    let (previous, own) = (context.entering, operation as? SettlingOperation)
    own?.state.apply { $0.note(.entersQueue) }
    context.entering = own
    addOperation(operation)
    context.entering = previous
    operation.repeatReadiness()
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

  /// Whether a queue starts this operation, which has not started: it holds the operation, or the
  /// operation is about to be added to it.
  final var isStartedByQueue: Bool {
    let state = state.current
    return state.has(.entersQueue) || state.has(.readinessWasRead) && isHeldByQueue
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
    // Not the current one: on the main thread that is the main queue, also if a queue targets it.
    guard QueueField.isKnown, QueueField.mayBeSet(of: self) else { return nil }
    return QueueField.queue(of: self)
    #endif
  }

  // MARK: - The sign

  /// Whether a queue may hold the operation. Still false while the queue that is taking it reads
  /// `isReady`.
  final var mayBeInQueue: Bool {
    #if canImport(Darwin)
    return state.current.has(.readinessWasRead)
    #else
    return QueueField.mayBeSet(of: self)
    #endif
  }

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

  /// Makes a call to Foundation in which it reads `isReady`, whether or not a queue holds the
  /// operation.
  @inline(__always)
  final func tellFoundation(_ body: () -> Void) {
    #if canImport(Darwin)
    let context = ThreadContext.current
    let previous = context.told
    context.told = self
    context.runUserCode(in: nil, body)  // of key-value observers
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
    context.runUserCode(in: nil, change)
    context.told = previous
    if super.isReady { state.apply { $0.forgetReadiness() } }
    #else
    let context = ThreadContext.current
    let previous = context.told
    context.told = self
    change()
    context.told = previous
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
    value(of: operation, label: label) != nil
  }

  /// The queue of an operation that it executes now, and so holds.
  static func queue(of operation: Operation) -> OperationQueue? {
    value(of: operation, label: label)?.takeUnretainedValue()
  }

  private static func value(of operation: Operation, label: String) -> Unmanaged<OperationQueue>? {
    fields(of: operation)?.children.first { $0.label == label }?.value as? Unmanaged<OperationQueue>
  }

  private static func fields(of operation: Operation) -> Mirror? {
    var mirror: Mirror? = Mirror(reflecting: operation)
    while let current = mirror, current.subjectType != Operation.self { mirror = current.superclassMirror }
    return mirror
  }

  // MARK: - The place of the field

  /// Whether the field may be set: false if its word is 0. Reflection, which makes sure, takes
  /// longer than a small operation runs.
  static func mayBeSet(of operation: Operation) -> Bool {
    guard let index else { return true }
    return word(index, of: operation) != 0
  }

  /// The number of the field's word in every operation; nil if it was not found, so that only
  /// reflection tells.
  private static let index: Int? = {
    let operation = BlockOperation()
    guard let before = fields(of: operation)?.children.prefix(while: { $0.label != label }) else { return nil }
    // Two words precede the first field. The search ends where the field is if those before it
    // take a word each.
    let unset = (2...2 + before.count).filter { word($0, of: operation) == 0 }
    let queue = OperationQueue()
    queue.isSuspended = true
    queue.addOperation(operation)
    defer { queue.isSuspended = false }
    let address = UInt(bitPattern: Unmanaged.passUnretained(queue).toOpaque())
    return unset.first { word($0, of: operation) == address }
  }()

  private static func word(_ index: Int, of operation: Operation) -> UInt {
    let size = MemoryLayout<UInt>.size
    return withExtendedLifetime(operation) {
      Unmanaged.passUnretained(operation).toOpaque().load(fromByteOffset: index * size, as: UInt.self)
    }
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
