import Foundation

// Announces state changes to Foundation and to key-value observers, which exist on Apple platforms
// only.

enum FoundationDifferences {
  /// Whether an operation may become finished before Foundation is notified that it will.
  @inline(__always) static var finishesInOneStep: Bool {
    #if canImport(Darwin)
    false
    #else
    true
    #endif
  }
}

extension Operation {
  /// Makes `change`, which turns `isExecuting` true. On Linux there are no observers of an
  /// overridden property.
  @inline(__always)
  final func announceStart(_ change: () -> Void) {
    #if canImport(Darwin)
    willChangeValue(forKey: "isExecuting")
    change()
    didChangeValue(forKey: "isExecuting")
    #else
    change()
    #endif
  }

  /// Makes `change`, which turns `isFinished` true, and notifies queues, dependents and waiters.
  ///
  /// On Linux `didChangeValue` is a plain function that notifies them; there are no observers to
  /// prepare.
  @inline(__always)
  final func announceEnd(_ change: () -> Void) {
    #if canImport(Darwin)
    willChangeValue(forKey: "isExecuting")
    willChangeValue(forKey: "isFinished")
    change()
    didChangeValue(forKey: "isFinished")
    didChangeValue(forKey: "isExecuting")
    #else
    change()
    didChangeValue(forKey: "isFinished")
    #endif
  }
}

// Observers that ask for the old value get the right one only if `willChangeValue` comes before the
// change, and each change is announced once. Foundation's `cancel()` announces `isCancelled`
// itself, and a queue needs that call for an operation that has not started: there, the property
// turns true inside it. Two threads that cancel or settle at the same time may announce it twice.

extension SettlingOperation {
  /// Whether there is a key-value observer.
  @inline(__always)
  final var isObservedByKey: Bool {
    #if canImport(Darwin)
    observationInfo != nil
    #else
    false
    #endif
  }

  // MARK: - isExecuting

  /// Prepares key-value observers for the start. Returns true if there are any; the caller then
  /// calls ``didStart()`` after the start.
  @inline(__always)
  final func willStart() -> Bool {
    #if canImport(Darwin)
    let state = state.current
    guard isObservedByKey, state.phase == .pending, !state.has(.cancelled) else { return false }
    ThreadContext.current.runUserCode(in: nil) { willChangeValue(forKey: "isExecuting") }
    return true
    #else
    return false
    #endif
  }

  @inline(__always)
  final func didStart() {
    #if canImport(Darwin)
    ThreadContext.current.runUserCode(in: nil) { didChangeValue(forKey: "isExecuting") }
    #endif
  }

  /// Notifies Foundation that `isExecuting` has turned true, unless only a composite uses the
  /// operation.
  ///
  /// Foundation needs it only for operations in a queue. `isFinished` is always announced:
  /// Foundation then releases dependents, wakes waiting threads, and calls the completion block.
  @inline(__always)
  final func announceStart() {
    #if canImport(Darwin)
    if !isOnlyComposed { announceStart {} }
    #endif
  }

  #if canImport(Darwin)
  private var isOnlyComposed: Bool {
    let state = state.current
    return state.has(.adopted) && !state.has(.readinessWasRead) && !isObservedByKey
  }
  #endif

  // MARK: - isFinished

  /// Makes `change`, which turns `isFinished` true, and notifies queues, dependents and waiters.
  @inline(__always)
  final func announceFinish(_ change: () -> Void) {
    #if canImport(Darwin)
    ThreadContext.current.runUserCode(in: nil) {
      guard isOnlyComposed else { return announceEnd(change) }
      willChangeValue(forKey: "isFinished")
      change()
      didChangeValue(forKey: "isFinished")
    }
    #else
    guard state.current.has(.hasDependents) else { return announceEnd(change) }
    let context = ThreadContext.current
    let previous = context.announcing
    context.announcing = self
    announceEnd(change)
    context.announcing = previous
    #endif
  }

  // MARK: - isCancelled

  /// Prepares key-value observers for `isCancelled`, if it is still to turn true. Returns true if
  /// there are any; the caller then calls ``announceCancel()`` after the change.
  @inline(__always)
  final func willCancel() -> Bool {
    #if canImport(Darwin)
    let state = state.current
    guard isObservedByKey, state.phase <= .executing, !state.has(.cancelled) else { return false }
    ThreadContext.current.runUserCode(in: nil) { willChangeValue(forKey: "isCancelled") }
    return true
    #else
    return false
    #endif
  }

  @inline(__always)
  final func announceCancel() {
    #if canImport(Darwin)
    ThreadContext.current.runUserCode(in: nil) { didChangeValue(forKey: "isCancelled") }
    #endif
  }

  /// Whether Foundation's `cancel()` has made the change, for an operation that was cancelled
  /// before it started.
  final var cancelWasAnnounced: Bool {
    state.current.phase != .pending || super.isCancelled
  }
}
