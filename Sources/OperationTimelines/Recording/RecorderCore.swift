import CompositeOperations
import Foundation
import Synchronization

/// What a recorder has recorded, and how it records. The recorder retains it, and so does what it
/// records.
///
/// An operation is known by the number of its composition and its own number there. Composition 0
/// has the operations that the recorder was attached to.
final class RecorderCore: Sendable {
  struct State {
    /// By the number of the thread.
    var buffers: [Int: EventBuffer] = [:]
    var scopes: [RecorderScope] = []
    /// The operation of each scope, by the number of the scope less 1.
    var owners: [Owner] = []
    /// The operations that the recorder was attached to.
    var roots: [Root] = []
    /// Operations that a recorded composition has taken over, and their places there.
    var replacedRoots: [Int32: Owner] = [:]
  }

  /// An operation, by its composition and its number there.
  struct Owner: Hashable {
    var scope: UInt32
    var tag: Int32
  }

  final class Root: @unchecked Sendable {  // weak loads are atomic; set once in `init`
    private(set) weak var operation: Operation?
    init(_ operation: Operation) { self.operation = operation }
  }

  private static let lastNumber = Atomic(0)

  let number = RecorderCore.lastNumber.add(1, ordering: .relaxed).newValue
  let state = LockBox(State())
  private let clock: @Sendable () -> Int64
  private let origin: Int64
  private let isContinuous: Bool

  init<C: Clock>(_ clock: C) where C.Duration == Duration {
    isContinuous = clock is ContinuousClock
    origin = continuousNanoseconds()
    let now: @Sendable () -> C.Instant = { OperationContext.bindNone { clock.now } }
    let start = now()
    self.clock = { start.duration(to: now()).nanoseconds }
  }

  @inline(__always)
  func now() -> Int64 {
    isContinuous ? continuousNanoseconds() - origin : runUserCode(clock)
  }

  // MARK: - Recording

  @inline(__always)
  func record(_ kind: RecordedEvent.Kind, scope: UInt32, tag: Int) {
    append(
      RecordedEvent(
        time: now(), type: 0, scope: scope, tag: Int32(truncatingIfNeeded: tag), attempt: 1, kind: kind))
  }

  @inline(__always)
  func recordSettled(_ operation: Operation, scope: UInt32, tag: Int, attempt: Int) {
    let type = unsafeBitCast(type(of: operation) as AnyClass, to: UInt.self)
    var event = RecordedEvent(
      time: now(), type: type, scope: scope, tag: Int32(truncatingIfNeeded: tag),
      attempt: UInt32(truncatingIfNeeded: attempt), kind: .settled)
    if let operation = operation as? SettlingOperation {
      event.ending = operation.hasSucceeded ? .success : .none
      if event.ending == .none || operation.isComposition || operation.name != nil { describe(operation, &event) }
    } else {
      describe(operation, &event)
    }
    append(event)
  }

  @inline(never)
  private func describe(_ operation: Operation, _ event: inout RecordedEvent) {
    var message: String?
    event.isPlain = !(operation is SettlingOperation)
    runUserCode {
      switch operation.anyOutcome {
      case .success: event.ending = .success
      case .failure(let error):
        event.ending = .failure
        message = RecorderCore.describe(error)
      case .cancelled: event.ending = .cancelled
      case nil: break
      }
    }
    let kind = (operation as? SettlingOperation)?.shownKind
    let name = operation.name
    if name != nil || message != nil || kind != nil {
      let text = RecordedText(scope: event.scope, tag: event.tag, name: name, message: message, kind: kind)
      BufferCache.current.buffer(of: self).takeUnretainedValue().append(text)
    }
  }

  /// The text of an error. Of a composite's error only the headline: the entries of the children
  /// have the rest.
  static func describe(_ error: any Error) -> String {
    if let error = error as? CompositeError { return error.headline }
    let text = OperationError.describe(error)
    return text.utf8.count <= 4000 ? text : String(text.prefix(4000)) + "…"
  }

  @inline(__always)
  private func append(_ event: RecordedEvent) {
    BufferCache.current.buffer(of: self)._withUnsafeGuaranteedRef { $0.append(event) }
  }

  /// The buffer of a thread: a new one if the thread has not recorded before.
  func buffer(ofThread thread: Int) -> EventBuffer {
    let name = currentThreadName()
    return state.withLock { state in
      if let buffer = state.buffers[thread] { return buffer }
      let made = EventBuffer(thread: Timeline.Thread(number: state.buffers.count + 1, name: name))
      state.buffers[thread] = made
      return made
    }
  }

  // MARK: - Compositions

  /// Records a composition from now on.
  ///
  /// - Parameters:
  ///   - isLate: whether it may have begun already.
  ///   - tellsStart: whether it records its own start, which the composition around it may not
  ///     report.
  /// - Returns: false if it is recorded already. It then stays where it was recorded first, unless
  ///   that was a root.
  @discardableResult
  func adopt(_ composition: Composition, in scope: UInt32, tag: Int32, isLate: Bool, tellsStart: Bool = false) -> Bool {
    state.withLock { state in
      guard let known = self.scope(of: composition) else {
        let made = RecorderScope(number: UInt32(state.scopes.count + 1), composition: composition, isLate: isLate)
        state.scopes.append(made)
        state.owners.append(Owner(scope: scope, tag: tag))
        let owner = scope == 0 || tellsStart ? Owner(scope: scope, tag: tag) : nil
        composition.addMonitor(ScopeMonitor(self, made, of: owner), isInherited: false)
        return true
      }
      let place = Int(known.number) - 1
      if scope != 0, state.owners[place].scope == 0 {
        state.replacedRoots[state.owners[place].tag] = Owner(scope: scope, tag: tag)
        state.owners[place] = Owner(scope: scope, tag: tag)
      }
      return false
    }
  }

  /// Records what is under way in a composition that may have started before. It counts from now
  /// on.
  func catchUp(_ composition: Composition) {
    var pending = [composition]
    while let composition = pending.popLast() {
      guard let scope = scope(of: composition) else { continue }
      composition.forEachChild { child, tag in
        guard !child.isFinished else { return }
        record(.added, scope: scope.number, tag: tag)
        if child.isExecuting { record(.started, scope: scope.number, tag: tag) }
        // Also an operation that waits: its start may have been reported already.
        guard let child = child as? SettlingOperation, let inner = child.composition else { return }
        let place = Int32(truncatingIfNeeded: tag)
        guard adopt(inner, in: scope.number, tag: place, isLate: true, tellsStart: true) else { return }
        if child.hasBegun { pending.append(inner) }
      }
    }
  }

  private func scope(of composition: Composition) -> RecorderScope? {
    var found: RecorderScope?
    composition.forEachMonitor { monitor in
      if let monitor = monitor as? ScopeMonitor, monitor.core === self { found = monitor.scope }
    }
    return found
  }
}

extension RecorderCore {
  func attach(_ operation: Operation) {
    let tag = state.withLock { state in
      state.roots.append(Root(operation))
      return Int32(state.roots.count)
    }
    record(.added, scope: 0, tag: Int(tag))
    let observer = RootObserver(self)
    guard let own = operation as? SettlingOperation else {
      record(.started, scope: 0, tag: Int(tag))
      return ForeignOperations.observe(operation, observer, tag: Int(tag))
    }
    if let composition = own.composition {
      guard attach(composition, of: own, tag: tag) else { return }
    } else if own.isExecuting {
      record(.started, scope: 0, tag: Int(tag))
    } else {
      own.addLifecycleObserver { [self] event in
        if case .started = event.content { record(.started, scope: 0, tag: Int(tag)) }
      }
      // It may have started before it was observed. If this start is recorded twice, the first
      // record counts.
      if own.isExecuting { record(.started, scope: 0, tag: Int(tag)) }
    }
    if !own.observe(observer, tag: Int(tag)) { observer.operationDidSettle(own, tag: Int(tag)) }
  }

  /// Returns false if the composition is recorded already.
  private func attach(_ composition: Composition, of operation: SettlingOperation, tag: Int32) -> Bool {
    guard adopt(composition, in: 0, tag: tag, isLate: operation.hasBegun) else {
      // This root does not exist: the operation stands where it is recorded already.
      state.withLock { $0.replacedRoots[tag] = Owner(scope: 0, tag: 0) }
      return false
    }
    // It may have started while the recorder was being attached.
    if operation.hasBegun {
      if operation.isExecuting { record(.started, scope: 0, tag: Int(tag)) }
      catchUp(composition)
    }
    return true
  }
}
