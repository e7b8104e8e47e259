import Foundation

/// The engine for other targets: an operation whose driver chooses the children while it runs.
///
/// The driver adds tags when their operations can run. This asks the driver for each operation when
/// it may start, runs it like a child of a composite, and reports its settlement. Operations run on
/// workers, or in lanes of the given queue (or of the parent composite's); this occupies no slot
/// itself. It nests in composites, and composites in it. It does not settle by itself: when all
/// operations have finished, the driver calls `finish(with:)`, `reject(with:)` or `settle(with:)`,
/// and keeps it alive until then.
package final class DrivenOperation<Value: Sendable>: SimpleOperation<Value>, @unchecked Sendable {  // see the fields
  /// The calls to the driver: on workers, or on the thread of the event; under no lock.
  /// `makeOperation` sees no task-local values. The driver binds the values of each operation.
  package struct Driver: Sendable {
    /// Called when the operation has started; tags can be added from now on.
    package var didStart: @Sendable (DrivenOperation) -> Void
    /// Makes the operation of a tag, which may start now, and returns the tag that it settles with.
    /// Called once for each, where the operation will run. Returns nil if nothing is left to run.
    package var makeOperation: @Sendable (DrivenOperation, _ tag: Int) -> (Operation, tag: Int)?
    /// Called once for each operation that was made, when it has settled. Returns the tags that can
    /// run in consequence: like adding them afterwards, but the same thread continues with them
    /// where it can.
    package var operationDidSettle: @Sendable (DrivenOperation, Operation, _ tag: Int) -> [Int]
    /// Called at most once, when the operation is cancelled: before `didStart`, which is then not
    /// called, or while it executes. The driver adds nothing more, calls `cancelAll()`, and settles
    /// the operation when all have settled.
    package var wasCancelled: @Sendable (DrivenOperation) -> Void
    /// How many pieces of work there are, and how many of them are done; nil if unknown. Called on
    /// any thread while progress is observed: when an operation has settled, and after
    /// `progressDidChange()`.
    package var countDone: @Sendable () -> (done: Int, total: Int)? = { nil }
    /// The number of the attempt that the operation of a tag is, from 1. Called for timelines,
    /// before `operationDidSettle`.
    package var attempt: @Sendable (_ tag: Int) -> Int = { _ in 1 }

    package init(
      didStart: @escaping @Sendable (DrivenOperation) -> Void,
      makeOperation: @escaping @Sendable (DrivenOperation, _ tag: Int) -> (Operation, tag: Int)?,
      operationDidSettle: @escaping @Sendable (DrivenOperation, Operation, _ tag: Int) -> [Int],
      wasCancelled: @escaping @Sendable (DrivenOperation) -> Void
    ) {
      self.didStart = didStart
      self.makeOperation = makeOperation
      self.operationDidSettle = operationDidSettle
      self.wasCancelled = wasCancelled
    }
  }

  private let driver: Driver
  private let operationQueue: OperationQueue?
  // Set once, before the operation can be started.
  private var driven: DrivenForm!
  private let phase = LockBox(Phase.idle)

  private enum Phase {
    case idle, driven, cancelled
  }

  package init(operationQueue: OperationQueue? = nil, driver: Driver) {
    self.driver = driver
    self.operationQueue = operationQueue
    super.init(flags: .needsNoSlot)
    driven = DrivenForm { [weak self] tag in
      guard let self else { return nil }
      return driver.makeOperation(self, tag)
    } whenEnded: { [weak self] operation, tag in
      guard let self else { return [] }
      return driver.operationDidSettle(self, operation, tag)
    } countDone: {
      driver.countDone()
    } attempt: {
      driver.attempt($0)
    }
  }

  package override class var typeDescription: String { "\(SimpleOperation<Value>.self)" }

  package override var compositionBase: CompositionBase? { driven }

  package override func main() {
    driven.bind(to: self, queue: operationQueue, keeps: false)
    let isDriven = phase.withLock { phase in
      if phase == .idle { phase = .driven }
      return phase == .driven
    }
    if isDriven { ThreadContext.current.runUserCode { driver.didStart(self) } }
  }

  override func unwind() {
    propagateCancel()
  }

  override func propagateCancel() {
    phase.withLock { $0 = .cancelled }
    ThreadContext.current.runUserCode { driver.wasCancelled(self) }
  }

  // MARK: - For the driver

  /// Runs operations in the order of these tags; each is made when the width and the queue allow it
  /// to start. An operation that other code has started or starts is awaited.
  package func run(tags: [Int]) {
    if driven.table.withLock({ $0.add(tags: tags) }) { driven.offer() }
  }

  /// Cancels the operations that run, and settles those that wait for their dependencies without
  /// running them; the driver hears of each when it has settled. Operations that other code starts
  /// are left alone. Tags whose operations were not made are forgotten. Nothing starts after this.
  package func cancelAll() {
    driven.cancel()
  }

  /// How many operations may be unfinished at the same time. A change applies from the next one on.
  package var width: Int {
    get { driven.width }
    set { driven.width = newValue }
  }

  /// Called by the driver when the result of `countDone` has changed.
  package func progressDidChange() {
    StripedLock.withLock(of: self) { rareFields?.progress }?.compositionDidChange()
  }

  /// While true, no further operation starts.
  package var isSuspended: Bool {
    get { driven.isSuspended }
    set { driven.isSuspended = newValue }
  }

  /// Sets the width and whether it is suspended, at once. Starts nothing, so that the driver can
  /// call it inside of the lock that guards what it sets.
  ///
  /// - Returns: whether the driver has to call ``startMore()`` then, outside of the lock.
  package func setLimits(width: Int, isSuspended: Bool) -> Bool {
    driven.table.withLock { table in
      table.setWidth(width)
      table.setSuspended(isSuspended)
      return table.canClaim
    }
  }

  /// Starts what may start now.
  package func startMore() {
    driven.offer()
  }
}

/// The form of ``DrivenOperation``.
private final class DrivenForm: Composition, @unchecked Sendable {  // immutable
  private let makeOperation: @Sendable (_ tag: Int) -> (Operation, tag: Int)?
  private let whenEnded: @Sendable (Operation, _ tag: Int) -> [Int]
  private let countDone: @Sendable () -> (done: Int, total: Int)?
  private let attempt: @Sendable (_ tag: Int) -> Int

  init(
    make: @escaping @Sendable (_ tag: Int) -> (Operation, tag: Int)?,
    whenEnded: @escaping @Sendable (Operation, _ tag: Int) -> [Int],
    countDone: @escaping @Sendable () -> (done: Int, total: Int)?, attempt: @escaping @Sendable (_ tag: Int) -> Int
  ) {
    makeOperation = make
    self.whenEnded = whenEnded
    self.countDone = countDone
    self.attempt = attempt
    super.init(.graph, .tags, .joins)
  }

  override func make(_ tag: Int, after previous: Operation?, _ refusal: OperationError?) -> Made {
    makeOperation(tag).map { .run($0, tag: $1) } ?? .nothing
  }

  override func ended(_ child: Operation, tag: Int) -> [Int] { whenEnded(child, tag) }

  override var progressShape: ProgressShape { .driven(countDone()) }

  override func attempt(of number: Int) -> Int {
    waits.withLockIfMade { $0.told[number] }?.map(attempt) ?? 1
  }
}
