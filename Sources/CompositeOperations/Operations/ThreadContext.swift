import Foundation

/// What the engine knows about the thread it is on.
///
/// Two lists keep every stack flat. *Effects* (telling a parent, cancelling or unwinding a composite child) are
/// queued while another effect runs, instead of nesting in it. A worker that starts a composite finds its source in
/// `next` instead of driving it inside `start()`.
///
/// Both are switched off around user code, so that what it triggers happens before it goes on.
final class ThreadContext {
  private static let threadLocal = ThreadLocal { ThreadContext() }

  static var current: ThreadContext {
    @inline(__always) get { threadLocal.current }
  }

  /// A step that must not nest in another of its kind.
  enum Effect {
    /// Tell an observer that the operation has settled.
    case notify(Observation, Operation)
    /// Cancel a composite that a composite runs.
    case cancel(Operation)
    /// Settle a composite that a composite will not run, without running it.
    case unwind(Operation)
  }

  // Only ever touched by its own thread, in short accesses: not worth checking at run time.
  @exclusivity(unchecked) private var effects: [Effect] = []
  @exclusivity(unchecked) private var nextEffect = 0
  @exclusivity(unchecked) private var isDraining = false

  /// Whether a worker's loop owns this thread and engine code, not the user's, is running.
  @exclusivity(unchecked) var isWorker = false
  /// The urgency of the worker's thread.
  @exclusivity(unchecked) var urgency = 0
  /// The composition that the worker is starting. `main` may be the user's, but this is what it is for.
  @exclusivity(unchecked) var expected: Composition?
  /// What the worker turns to next.
  @exclusivity(unchecked) var next: Composition?
  /// The operation of which this thread tells Foundation something. That Foundation reads `isReady` then says nothing.
  @exclusivity(unchecked) var told: SettlingOperation?
  /// The turn of the worker, or lane, that owns this thread.
  @exclusivity(unchecked) var turn = Turn()

  /// How urgent the work is of the composition that is just starting a child here; nil if none is.
  @exclusivity(unchecked) private(set) var qualityOfService: QualityOfService?

  // MARK: - Effects

  /// Carries out an effect: now, or after the one that is being carried out.
  func perform(_ effect: Effect) {
    guard !isDraining else {
      effects.append(effect)
      return
    }
    isDraining = true
    carryOut(effect)
    drain()
  }

  /// Tells an observer that the operation has settled: the most frequent effect.
  func notify(_ observation: Observation, _ operation: Operation) {
    guard !isDraining else { return perform(.notify(observation, operation)) }
    isDraining = true
    observation.observer.operationDidSettle(operation, tag: observation.tag)
    drain()
  }

  private func drain() {
    while nextEffect < effects.count {
      let effect = effects[nextEffect]
      nextEffect += 1
      if nextEffect == effects.count {
        effects.removeAll(keepingCapacity: nextEffect < 1024)
        nextEffect = 0
      }
      carryOut(effect)
    }
    isDraining = false
  }

  private func carryOut(_ effect: Effect) {
    switch effect {
    case .notify(let observation, let operation):
      observation.observer.operationDidSettle(operation, tag: observation.tag)
    case .cancel(let operation):
      operation.cancel()
    case .unwind(let operation):
      operation.cancel()
      operation.start()
    }
  }

  /// Runs code of the user's, which may use any operation and must find that it takes effect at once.
  ///
  /// What the code autoreleases is released when it returns.
  @inline(__always)
  func runUserCode<R, Failure: Error>(_ body: () throws(Failure) -> R) throws(Failure) -> R {
    let (wasDraining, wasWorker) = (isDraining, isWorker)
    isDraining = false
    isWorker = false
    defer {
      isDraining = wasDraining
      isWorker = wasWorker
    }
    return try withAutoreleasePool(body)
  }

  /// Starts a child of a composition, which is no composition itself.
  @inline(__always)
  func startChild(_ child: Operation, qualityOfService: QualityOfService) {
    let previous = self.qualityOfService
    self.qualityOfService = qualityOfService
    runUserCode { child.start() }
    self.qualityOfService = previous
  }
}

/// Runs code of the user's where it may be on behalf of the core: what it does with operations takes effect at once.
package func runUserCode<R, Failure: Error>(_ body: () throws(Failure) -> R) throws(Failure) -> R {
  try ThreadContext.current.runUserCode(body)
}
