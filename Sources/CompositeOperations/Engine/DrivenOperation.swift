import Foundation

/// The engine for other targets: an operation whose children somebody else, the driver, decides on while it runs.
///
/// Hand it tags when their operations can run. It has the driver make each operation when it may start, runs it as a
/// composite runs its children, and says when it has settled: on workers, or in lanes of the given queue (or of the
/// surrounding composite's); it occupies no slot itself.
/// It nests in composites, and composites in it. It does not settle by itself: the driver ends it with `finish(with:)`,
/// `reject(with:)` or `settle(with:)`, when nothing that it handed in is unfinished any more, and keeps it alive until
/// then.
package final class DrivenOperation<Value: Sendable>: SimpleOperation<Value>, @unchecked Sendable {  // see the fields
  /// What the driver gets to know. Called on workers, or on the thread on which it happened; under no lock.
  package struct Driver: Sendable {
    /// The operation has started; tags can be handed in from now on.
    package var didStart: @Sendable (DrivenOperation) -> Void
    /// The operation of one of the tags that were handed in may start: makes it, and says which tag it settles with.
    /// Called where the operation will run, once for each. Nil if nothing is left to run.
    package var makeOperation: @Sendable (DrivenOperation, _ tag: Int) -> (Operation, tag: Int)?
    /// An operation that was made has settled. Once for each. Returns the tags that can run in
    /// consequence: as if they were handed in afterwards, but the thread goes on with them itself where it can.
    package var operationDidSettle: @Sendable (DrivenOperation, Operation, _ tag: Int) -> [Int]
    /// The operation was cancelled: before `didStart`, which then does not come, or while it executes. The driver hands
    /// nothing in any more, calls `cancelAll()`, and settles the operation when all have settled. Called once, if at
    /// all.
    package var wasCancelled: @Sendable (DrivenOperation) -> Void
    /// How many pieces of work there are, and how many of them are done; nil if that is not known. Asked from any thread,
    /// if somebody wants to know the operation's progress: when an operation has settled, and after
    /// `progressDidChange()`.
    package var countDone: @Sendable () -> (done: Int, total: Int)? = { nil }
    /// Which attempt at its work the operation with a tag is, from 1. Asked for timelines, before `operationDidSettle`.
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
  private var readySource: ReadySource!
  private let phase = LockBox(Phase.idle)

  private enum Phase {
    case idle, driven, cancelled
  }

  package init(operationQueue: OperationQueue? = nil, driver: Driver) {
    self.driver = driver
    self.operationQueue = operationQueue
    super.init(flags: .needsNoSlot)
    readySource = ReadySource { [weak self] tag in
      guard let self else { return nil }
      return driver.makeOperation(self, tag)
    } whenSettled: { [weak self] operation, tag in
      guard let self else { return [] }
      return driver.operationDidSettle(self, operation, tag)
    } countDone: {
      driver.countDone()
    } attempt: {
      driver.attempt($0)
    }
  }

  package override class var typeDescription: String { "\(SimpleOperation<Value>.self)" }

  package override var composition: Composition? { readySource }

  package override func main() {
    readySource.bind(to: self, queue: operationQueue, keeps: false)
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

  /// Runs operations, each of which is made when the width and the queue allow it to start, in the order of their tags
  /// here. One that somebody else has started by then, or starts, is waited for.
  package func run(tags: [Int]) {
    readySource.add(tags: tags)
  }

  /// Cancels the operations that are under way, and settles those that wait for their dependencies without running them;
  /// the driver is told of each when it has settled. Operations that somebody else starts are left alone. Tags whose
  /// operations have not been made are forgotten. Nothing starts any more.
  package func cancelAll() {
    readySource.cancelAll()
  }

  /// How many operations may be unfinished at the same time. A change holds from the next one on.
  package var width: Int {
    get { readySource.width }
    set { readySource.width = newValue }
  }

  /// `countDone` gives something else than before.
  package func progressDidChange() {
    StripedLock.withLock(of: self) { rareFields?.progress }?.sourceDidChange()
  }

  /// While true, no further operation starts.
  package var isSuspended: Bool {
    get { readySource.isSuspended }
    set { readySource.isSuspended = newValue }
  }
}
