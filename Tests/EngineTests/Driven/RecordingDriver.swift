import Foundation
import TestSupport

@testable import CompositeOperations

/// The driver of a driven operation, for tests: records its calls, and calls hooks.
///
/// It keeps the operations that are added through ``run(_:)`` until the engine asks for them. It
/// ends the driven operation when all of them have settled and ``endWhenIdle()`` was called.
final class RecordingDriver: Sendable {
  enum Event: Equatable, Sendable {
    case started, cancelled
    case settled(Int)
  }

  private struct State {
    var handedIn = 0
    /// The operations that the engine has not asked for yet, by their tag; with the tag they settle
    /// with.
    var waiting: [Int: (Operation, tag: Int)] = [:]
    var lastPlace = 0
    var made = 0
    var told = 0
    var endsWhenIdle = false
    var wasCancelled = false
  }

  /// The calls of the driver, in order.
  let events = EventRecorder<Event>()
  private let state = Locked(State())
  private let operations: Locked<DrivenOperation<Int>?>

  /// The driven operation. The two keep each other: a test is short.
  var operation: DrivenOperation<Int> { operations.withLock { $0! } }

  /// - Parameters:
  ///   - whenStarted: called in `didStart`, after it was recorded.
  ///   - whenSettled: called in `operationDidSettle`, after it was recorded.
  ///   - whenCancelled: called in `wasCancelled`, after it was recorded. By default everything is
  ///     cancelled or forgotten, and the operation ends when all operations have finished.
  init(
    queue: OperationQueue? = nil,
    whenStarted: @escaping @Sendable (RecordingDriver) -> Void = { _ in },
    whenSettled: @escaping @Sendable (RecordingDriver, Operation, Int) -> Void = { _, _, _ in },
    whenCancelled: @escaping @Sendable (RecordingDriver) -> Void = { $0.cancelEverything() }
  ) {
    operations = Locked(nil)
    let made = DrivenOperation<Int>(
      operationQueue: queue,
      driver: DrivenOperation.Driver(
        didStart: { [self] _ in
          events.record(.started)
          whenStarted(self)
        },
        makeOperation: { [self] _, place in
          state.withLock { state in
            let next = state.waiting.removeValue(forKey: place)
            if next != nil { state.made += 1 }
            return next
          }
        },
        operationDidSettle: { [self] _, operation, tag in
          events.record(.settled(tag))
          whenSettled(self, operation, tag)
          state.withLock { $0.told += 1 }
          endIfIdle()
          return []
        },
        wasCancelled: { [self] _ in
          state.withLock { $0.wasCancelled = true }
          events.record(.cancelled)
          whenCancelled(self)
        }))
    operations.withLock { $0 = made }
  }

  /// Adds an operation.
  func run(_ operation: Operation, tag: Int) {
    let place = state.withLock { state in
      state.handedIn += 1
      state.lastPlace += 1
      state.waiting[state.lastPlace] = (operation, tag)
      return state.lastPlace
    }
    self.operation.run(tags: [place])
  }

  /// Adds operations; their indices are the tags.
  func run(_ operations: [Operation]) {
    for (tag, operation) in operations.enumerated() { run(operation, tag: tag) }
  }

  /// Ends the operation, with the number of added operations, as soon as all of them have settled.
  func endWhenIdle() {
    state.withLock { $0.endsWhenIdle = true }
    endIfIdle()
  }

  /// What a driver does when it is cancelled.
  func cancelEverything() {
    operation.cancelAll()
    // The operations that the engine has not asked for, and will not.
    let forgotten = state.withLock { state in
      defer { state.waiting = [:] }
      state.handedIn -= state.waiting.count
      return state.waiting
    }
    withExtendedLifetime(forgotten) {}
    endWhenIdle()
  }

  private func endIfIdle() {
    let (isIdle, count) = state.withLock { ($0.endsWhenIdle && $0.told == $0.handedIn, $0.handedIn) }
    if isIdle { operation.finish(with: count) }
  }

  /// How many operations the engine has asked for, and got.
  var madeCount: Int { state.withLock { $0.made } }

  /// The tags of the settled operations, in order.
  var settledTags: [Int] {
    events.events.compactMap { event in
      if case .settled(let tag) = event { tag } else { nil }
    }
  }

  /// Waits until this many operations have settled.
  func wait(forSettled count: Int) async {
    await events.wait { events in events.count { $0 != .started && $0 != .cancelled } >= count }
  }

  /// Starts the operation as a program does, on some thread.
  func start() async {
    let operation = operation
    await onWorker { operation.start() }
  }
}
