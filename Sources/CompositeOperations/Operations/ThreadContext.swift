import Foundation

/// What the engine knows about its current thread.
///
/// Two lists keep every stack flat. *Effects* (notifying a parent, cancelling or unwinding a child
/// composite) are queued while another effect runs, instead of nesting in it. A worker that starts
/// a composite finds its composition in `next` instead of running it inside `start()`.
///
/// Both are switched off around user code, so that its calls take effect before they return. What
/// waits at that time goes on waiting, so the code meets only the effects of its own calls.
final class ThreadContext {
  private static let threadLocal = ThreadLocal { ThreadContext() }

  static var current: ThreadContext {
    @inline(__always) get { threadLocal.current }
  }

  /// A step that must not nest in another of its kind.
  enum Effect {
    /// Notify an observer that the operation has settled.
    case notify(Observation, Operation)
    /// Cancel a composite that a composite runs.
    case cancel(Operation)
    /// Settle a composite that a composite will not run, without running it.
    case unwind(SettlingOperation)
  }

  // Only its own thread uses these, in short accesses: not worth checking at run time.
  /// What waits. Nil where it was carried out, so that removing it releases nothing: a
  /// deinitializer may come back here.
  @exclusivity(unchecked) private var effects: [Effect?] = []
  @exclusivity(unchecked) private var nextEffect = 0
  @exclusivity(unchecked) private var isDraining = false

  /// Whether a worker's loop owns this thread and engine code, not the user's, is running.
  @exclusivity(unchecked) var isWorker = false
  /// The urgency of the worker's thread.
  @exclusivity(unchecked) var urgency = 0
  /// The composition that the worker is starting, to be taken on even if user code runs in between.
  @exclusivity(unchecked) var expected: CompositionBase?
  /// The composition that the worker turns to next.
  @exclusivity(unchecked) var next: CompositionBase?
  /// The operation about which this thread is notifying Foundation, which may then read `isReady`
  /// without a queue.
  @exclusivity(unchecked) var told: SettlingOperation?
  /// Linux: the operation that this thread is adding to a queue.
  @exclusivity(unchecked) var entering: SettlingOperation?
  /// Linux: the operation with dependents whose end this thread is announcing to Foundation.
  @exclusivity(unchecked) var announcing: SettlingOperation?
  /// The turn of the worker, or lane, that owns this thread.
  @exclusivity(unchecked) var turn = Turn()

  /// The quality of service of the composition that is starting a child here; nil if none is.
  @exclusivity(unchecked) private(set) var qualityOfService: QualityOfService?

  // MARK: - Effects

  /// Carries out an effect: now, or after the current one.
  func perform(_ effect: Effect) {
    guard !isDraining else {
      effects.append(effect)
      return
    }
    let outer = beginDrain()
    carryOut(effect)
    drain(inside: outer)
  }

  /// Notifies an observer that the operation has settled: the most frequent effect.
  func notify(_ observation: Observation, _ operation: Operation) {
    guard !isDraining else { return perform(.notify(observation, operation)) }
    let outer = beginDrain()
    observation.observer.operationDidSettle(operation, tag: observation.tag)
    drain(inside: outer)
  }

  /// - Returns: the next effect of the drain around the user code that runs.
  private func beginDrain() -> Int {
    isDraining = true
    defer { nextEffect = effects.count }
    return nextEffect
  }

  private func drain(inside outer: Int) {
    let first = nextEffect
    while nextEffect < effects.count {
      let effect = effects[nextEffect].take()
      nextEffect += 1
      if nextEffect == effects.count {
        if first == 0 {
          effects.removeAll(keepingCapacity: nextEffect < 1024)
        } else {
          effects.removeLast(nextEffect - first)
        }
        nextEffect = first
      }
      if let effect { carryOut(effect) }
    }
    nextEffect = outer
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
      operation.start(byOwner: true) {}
    }
  }

  /// Runs user code, whose calls to any operation must take effect at once.
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

  /// Runs user code that sees these task-local values.
  @inline(__always)
  func runUserCode<R, Failure: Error>(
    in values: @autoclosure () -> ContextValues?, _ body: () throws(Failure) -> R
  ) throws(Failure) -> R {
    guard OperationContext.isUsed else { return try runUserCode(body) }
    return try runUserCode(binding: values(), body)
  }

  @inline(never)
  private func runUserCode<R, Failure: Error>(
    binding values: ContextValues?, _ body: () throws(Failure) -> R
  ) throws(Failure) -> R {
    try runUserCode { () throws(Failure) -> R in try OperationContext.bind(values, body) }
  }

  /// Starts a child of a composition that is no composition itself.
  @inline(__always)
  func startChild(_ child: SettlingOperation, qualityOfService: QualityOfService) {
    let previous = self.qualityOfService
    self.qualityOfService = qualityOfService
    runUserCode { child.start(byOwner: true) {} }
    self.qualityOfService = previous
  }
}

/// Runs user code on a thread that may belong to the core: its calls to operations take effect at
/// once.
package func runUserCode<R, Failure: Error>(_ body: () throws(Failure) -> R) throws(Failure) -> R {
  try ThreadContext.current.runUserCode(body)
}
